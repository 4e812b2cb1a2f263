"""Secrets are hidden in any text by their shape or their name, and what operators need stays."""

import json

from apps.lib.text.redaction import HIDDEN, redact, redact_all, redact_shapes
from tests.builders import canaries
from tests.rows import for_each_row

READABLE = [
    "GET /v1/modules/acme/vpc/aws/1.2.0/download",
    "/modules/acme/uploads/aws and /invitations/12/revoke",
    "/v2/acme/vpc/aws/blobs/uploads/0b7a1b0e-2222-4333-8444-123456789abc",
    "/archives/" + "ab12" * 16 + "/vpc-aws-1.2.0.zip",
    "f8dabc30f79f4c4387c3680f96271695",
    "0b7a1b0e-2222-4333-8444-123456789abc",
    "sha256:" + "0123456789abcdef" * 4,
    "Basic authentication failed, bearer tokens work",
    "code=too_large token_id=5 key=ABCDEF0123456789 tokens=3",
    "https://host:8443/x/a@b and git@github.com:acme/vpc.git",
    "-----BEGIN PGP PUBLIC KEY BLOCK-----\nmQINBF\n-----END PGP PUBLIC KEY BLOCK-----",
    "CSRF cookie not set.",
    "the token was refused; the session has ended",
]


@for_each_row("what", canaries.SHOWN)
def test_a_secret_is_hidden_and_its_surroundings_stay(what):
    text, secret = canaries.SHOWN[what]
    hidden = redact(f"before {text}\nafter")

    assert secret in text
    assert secret not in hidden
    assert HIDDEN in hidden
    assert hidden.startswith("before ")
    assert redact(hidden) == hidden, "a second look changes nothing"


@for_each_row("text", READABLE)
def test_what_operators_need_stays_readable(text):
    assert redact(text) == text


@for_each_row(
    ("text", "shown"),
    [
        (f"PUT /uploads/{canaries.TICKET} 403", "PUT /uploads/[redacted] 403"),
        (f"/archives/{canaries.CAPABILITY}/ab12/vpc.zip", "/archives/[redacted]/ab12/vpc.zip"),
        (f"/x?q=vpc&token={canaries.CODE}&page=2", "/x?q=vpc&token=[redacted]&page=2"),
        (f"postgres://larder:{canaries.PASSWORD}@db:5432/x", "postgres://larder:[redacted]@db:5432/x"),
    ],
)
def test_only_the_secret_is_taken(text, shown):
    assert redact(text) == shown


def test_values_are_hidden_by_their_key_at_any_depth():
    found = redact_all(
        {"headers": [{"X-CSRFToken": "x", "Host": "y"}], "password": ["x"], "token": None, "token_id": 5}
    )

    assert found == {
        "headers": [{"X-CSRFToken": HIDDEN, "Host": "y"}],
        "password": HIDDEN,
        "token": HIDDEN,
        "token_id": 5,
    }


def test_what_is_no_json_becomes_its_redacted_repr():
    class Form:
        def __repr__(self):
            return f"<Form password={canaries.PASSWORD}>"

    assert redact_all({"form": (Form(), 1.5, True)}) == {"form": ["<Form password=[redacted]>", 1.5, True]}


def test_a_rendered_line_stays_json():
    line = json.dumps({what: text for what, (text, _) in canaries.SHOWN.items()})
    assert json.loads(redact_shapes(line)).keys() == canaries.SHOWN.keys()


@for_each_row(
    "unit",
    ["a", "password", "//", "eyJ", "0a1b2c-", "%25", "-----BEGIN PRIVATE KEY-----", "basic ", "token='", "token=["],
)
def test_hostile_text_does_not_hold_it_up(unit):
    """Twenty times the length is about twenty times the work: were it squared, this would take minutes."""
    assert redact(unit * 30_000)
