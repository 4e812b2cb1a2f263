"""…/<version>/statement for whoever may install the release, and the keys for everybody."""

import base64
import json

import pytest

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Visibility
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle
from apps.provenance.models import Statement
from apps.releases.models import Release
from apps.signing import statement_keys
from tests.provenance.conftest import state
from tests.providers.draft_client import DraftClient, hold, zips
from tests.rows import for_each_row

__all__ = ["state"]
URL = "/api/v1/modules/acme/vpc/aws/1.2.0/statement"
KEYS = "/api/v1/statement-keys"


def message_of(answer) -> str:
    return str(answer.json()["error"]["message"])


def test_a_reader_gets_the_envelope_with_its_type_and_tag(published, state, tofu, bob, django_assert_max_num_queries):
    statement, client = state(published()), tofu(bob)
    answer = client.get(URL)
    assert (answer.status_code, answer.content) == (200, bytes(statement.envelope))
    assert answer.headers["Content-Type"] == "application/vnd.dsse.envelope.v1+json"
    assert answer.headers["ETag"] == f'"{statement.digest}"'
    assert "public" not in answer.headers["Cache-Control"]
    again = client.get(URL, headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    with django_assert_max_num_queries(5):
        assert client.head(URL).status_code == 200


def test_a_stranger_gets_what_a_missing_namespace_answers(published, state, tofu, charlie):
    state(published())
    missing = tofu(charlie).get(URL.replace("acme", "nowhere"))
    hidden = tofu(charlie).get(URL)
    assert hidden.status_code == missing.status_code == 404
    assert message_of(hidden) == message_of(missing).replace("nowhere", "acme")


def test_a_public_release_needs_no_token_and_its_statement_names_nobody(published, state, acme, tofu):
    state(published())
    type(acme).objects.update(visibility=Visibility.PUBLIC)
    answer = tofu().get(URL)
    assert answer.status_code == 200
    assert b"alice" not in base64.b64decode(answer.json()["payload"])


def test_until_it_is_signed_the_answer_says_so(published, tofu, bob):
    published()
    answer = tofu(bob).get(URL)
    assert answer.status_code == 404
    assert "has not been signed yet" in message_of(answer)
    assert "signing worker" in answer.json()["error"]["hint"]


def test_a_yanked_version_keeps_it_and_one_that_is_quarantined_or_purged_does_not(
    published, state, tofu, bob, dora, olga
):
    release = published()
    state(release)
    address = ModuleAddress.parse("acme/vpc/aws")
    lifecycle.yank(viewer=Viewer(dora), address=address, version="1.2.0", reason="It deletes the volume.")
    assert tofu(bob).get(URL).status_code == 200
    lifecycle.quarantine(viewer=Viewer(olga), address=address, version="1.2.0", reason="It phones home.")
    for person in (bob, olga):
        assert tofu(person).get(URL).status_code == 404
    lifecycle.restore(viewer=Viewer(olga), address=address, version="1.2.0", reason="It does not.")
    assert tofu(bob).get(URL).status_code == 200
    lifecycle.purge_here(address=address, version="1.2.0", reason="A key.", confirm=str(release))
    assert tofu(bob).get(URL).status_code == 404
    assert Statement.objects.get().release == release


@pytest.mark.both
@for_each_row("kind", ["module", "provider"])
def test_during_a_cool_down_nobody_gets_it(published, acme, dora, alice, bob, tofu, state, kind):
    type(acme).objects.update(cooldown_hours=24)
    if kind == "module":
        statement = state(published())
        url = URL
    else:
        hold(acme, dora)
        DraftClient(tofu(alice)).publish(zips(), protocols=["5.0"])
        statement = state(Release.objects.get())
        url = "/api/v1/providers/acme/dns/1.2.0/statement"
    for person in (bob, alice):
        answer = tofu(person).get(url)
        assert answer.status_code == 403
        assert "cool-down" in message_of(answer)
    Release.objects.update(visible_at=None)
    assert tofu(bob).get(url).content == bytes(statement.envelope)


# --- The keys ---------------------------------------------------------------------------------------------------------


def test_everybody_reads_the_keys_retired_ones_included(worker_host, db, tofu):
    assert tofu().get(KEYS).json() == {"keys": [], "next": None}
    first, _ = statement_keys.sign("text/plain", b"one")
    statement_keys.rotate(actor=NOBODY)
    second, _ = statement_keys.sign("text/plain", b"two")
    found = tofu().get(KEYS).json()["keys"]
    assert [(one["id"], one["state"], one["algorithm"]) for one in found] == [
        (second.key_id, "active", "ed25519"),
        (first.key_id, "retired", "ed25519"),
    ]
    assert found[0]["retired_at"] is None
    assert found[1]["retired_at"]
    assert all(one["public_key"].startswith("-----BEGIN PUBLIC KEY-----\n") for one in found)
    assert "PRIVATE" not in json.dumps(found)

    answer = tofu().get(f"{KEYS}/{first.key_id}/pem")
    assert (answer.content.decode(), answer.headers["Content-Type"]) == (first.public_key, "application/x-pem-file")
    missing = tofu().get(f"{KEYS}/{'ab' * 32}/pem")
    assert missing.status_code == 404
    assert "/api/v1/statement-keys" in missing.json()["error"]["hint"]
