"""PUT …?dry_run=1: what would happen to this archive, without publishing it."""

from contextvars import copy_context

import pytest

from apps.accounts.access import slots
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Scope
from apps.audit.models import AuditEvent
from apps.jobs import waiting
from apps.jobs.models import Job
from apps.lib.settings_values.rates import Rate
from apps.modules import dry_run
from apps.releases.models import Release
from tests.builders.archives import PRIVATE_KEY, module_zip
from tests.builders.tars import gz, module_tar
from tests.rows import for_each_row

URL = "/api/v1/modules/acme/vpc/aws/{}?dry_run=1"
BEFORE = {"main.tf": 'variable "name" {\n  default = "x"\n}\n'}
AFTER = {"main.tf": 'variable "name" {}\n'}
BREAKS = [("input_made_required", "name", '"x"')]


@pytest.fixture
def ask(tofu, alice, upload):
    """Asks with a token that may only read, as a pull request's pipeline should."""
    client = tofu(alice, Scope.READ)

    def send(version: str = "1.3.0", data: bytes | None = None, query: str = ""):
        return upload(client, URL.format(version) + query, module_zip(AFTER) if data is None else data)

    return send


@pytest.fixture
def published_before(published):
    return published(version="1.2.0", data=module_zip(BEFORE))


def codes(said):
    return [reason["code"] for reason in said["reasons"]]


@for_each_row(
    ("mode", "query", "state", "reasons"),
    [
        ("silent", "", "would_publish", []),
        ("warn", "", "would_publish", []),
        ("ask", "", "would_ask", ["breaking_change"]),
        ("ask", "&confirm=breaking-change", "would_ask", ["breaking_change"]),
        ("ask", "&confirm=breaking-change&reason=Nobody+left+it+out.", "would_publish", []),
        ("refuse", "&confirm=breaking-change&reason=Please.", "would_reject", ["breaking_change"]),
    ],
)
def test_it_says_what_the_rule_of_the_namespace_would_do(published_before, ask, mode, query, state, reasons):
    Namespace.objects.update(breaking_changes=mode)
    answer = ask(query=query)

    said = answer.json()
    assert (answer.status_code, said["state"], codes(said)) == (200, state, reasons)
    assert (said["against"], said["severity"], said["step"], said["is_said"]) == ("1.2.0", "breaking", "minor", False)
    assert [(one["rule"], one["name"], one["before"]) for one in said["changes"]] == BREAKS


@pytest.mark.both
def test_it_leaves_nothing(published_before, ask, stored_files):
    before = [stored_files(), Release.objects.count(), Job.objects.count(), AuditEvent.objects.count()]
    for data in (module_zip(AFTER), module_zip({"x/main.tf": "", "x/b.tf": ""}), b"this is no zip", b""):
        ask(data=data)

    assert [stored_files(), Release.objects.count(), Job.objects.count(), AuditEvent.objects.count()] == before


def test_what_is_wrong_with_the_archive_is_said_as_for_a_release(published_before, ask):
    broken = ask(data=b"this is no zip").json()
    with_key = ask(data=module_zip(BEFORE | {"id_rsa": PRIVATE_KEY})).json()

    assert (broken["state"], broken["changes"]) == ("would_reject", [])
    assert broken["reasons"][0]["sentence"].startswith("Found")
    assert (with_key["state"], codes(with_key)) == ("would_reject", ["private_key"])
    confirmed = ask(data=module_zip(BEFORE | {"id_rsa": PRIVATE_KEY}), query="&confirm=private_key").json()
    assert confirmed["state"] == "would_publish"
    assert ask(data=b"").status_code == 422


def test_a_first_version_has_nothing_to_be_compared_with(ask, acme):
    said = ask("1.0.0").json()

    assert (said["state"], said["against"], said["is_said"], said["changes"]) == ("would_publish", None, None, [])


def test_a_part_of_an_archive_is_examined_repacked_and_so_is_a_tarball(published_before, ask):
    whole = module_zip({"modules/vpc/main.tf": AFTER["main.tf"], "README.md": ""})
    part, tarball = ask(data=whole, query="&folder=modules/vpc").json(), ask(data=gz(module_tar(AFTER))).json()

    for said in (part, tarball):
        assert (said["state"], said["notes"]["repacked"]) == ("would_publish", True)
        assert [one["rule"] for one in said["changes"]] == ["input_made_required"]


def test_a_taken_number_and_a_full_namespace_are_reasons(published_before, ask, acme):
    other, same = ask("1.2.0").json(), ask("1.2.0", module_zip(BEFORE)).json()
    assert (other["state"], codes(other)) == ("would_reject", ["version_taken"])
    assert same["state"] == "would_publish"
    Namespace.objects.filter(pk=acme.pk).update(quota_versions=1)

    assert codes(ask().json()) == ["quota_full"]


@for_each_row("word", ["yes", "true", "", "2"])
def test_another_word_is_refused_and_publishes_nothing(tofu, alice, untouchable, word):
    answer = tofu(alice).put(URL.format("1.2.0").replace("=1", f"={word}"), **untouchable)

    assert answer.status_code == 422
    assert "dry_run" in answer.json()["error"]["message"]
    assert not Release.objects.exists()


def test_few_are_checked_at_once_and_the_others_wait_or_come_again(published_before, ask, monkeypatch, stored_files):
    monkeypatch.setattr(dry_run, "WAIT_SECONDS", 0)
    stored = stored_files()
    with dry_run._places, dry_run._places:
        answer = ask()

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert stored_files() == stored
    assert ask().status_code == 200


def test_beyond_the_slots_of_an_account_it_waits_with_the_bytes_that_it_sent(
    published_before, tofu, alice, upload, stored_files, settings, monkeypatch
):
    """The server calls it again in the same context, when there is a slot, and counts it once."""
    settings.RATES = settings.RATES | {"publish": Rate(1, 60)}
    monkeypatch.setattr(slots, "_queues", {})
    client, url, before = tofu(alice, Scope.READ), URL.format("1.3.0"), stored_files()
    request = copy_context()
    with slots.slot_of(Viewer(alice)), slots.slot_of(Viewer(alice)), slots.slot_of(Viewer(alice)):
        with slots.slot_of(Viewer(alice)):
            first = request.run(upload, client, url, module_zip(AFTER), **{waiting.OFFERED: True})
            asked = first.wsgi_request.META[waiting.ASKED]
            assert waiting.with_news([asked]) == []
        assert waiting.with_news([asked]) == [asked]
        again = request.run(upload, client, url, b"", **{waiting.OFFERED: True, waiting.ASKED: asked})

    assert (again.status_code, again.json()["against"]) == (200, "1.2.0")
    assert waiting.ASKED not in again.wsgi_request.META
    assert stored_files() == before


def test_what_can_never_be_planned_is_in_the_notes_and_no_reason(ask):
    said = ask(data=module_zip({"main.tf": 'output "x" {\n  value = var.zone\n}\n'})).json()

    assert (said["state"], said["reasons"]) == ("would_publish", [])
    assert [(one["code"], one["found"]) for one in said["notes"]["warnings"]] == [
        ("plan_fails", "line 2: found var.zone, which is not declared")
    ]
