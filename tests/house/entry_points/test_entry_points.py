"""Each way in is in entry_points.toml, and is tried as its entry says: harmless, free text, or a key."""

import json
from collections import Counter
from contextlib import contextmanager, suppress
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.urls import reverse

from apps.providers.models import ProviderVersion
from apps.releases.models import Release
from apps.signing.models import SigningKey
from tests.builders.keys import signing_key
from tests.house import scenario
from tests.house.entry_points import table, visible
from tests.house.policy.table import COLUMNS, ROUTES, TABLES, cells_of, kind_of
from tests.shelves import run_jobs
from tests.signing.test_armor import armored, packet

pytestmark = pytest.mark.matrix

SUCCESS = (200, 201, 202, 204, 303)
ROWS: dict[str, Any] = {
    "providers.providerversion": ProviderVersion.objects,
    "releases.release": Release.objects.filter(kind="provider"),
    "signing.signingkey": SigningKey.objects,
}
# Fields of requests whose text clients may be told.
SAID = {"reason", "replacement", "notice", "description"}
# What a terminal, or a document of one line each, would stumble over.
WORDS = ["two\nlines", "\x1b[2J", "a\0b", "a\u2028b", "a\u202eb", "  ", "x" * 2000]


def in_groups(group, *kinds):
    return sorted(
        entry_point
        for kind, listed in table.group(group).items()
        if not kinds or kind in kinds
        for entry_point in listed
    )


@contextmanager
def undone():
    """Whatever is done inside is taken back. No block of its own, so that jobs may begin theirs."""
    mark = transaction.savepoint()
    try:
        yield
    finally:
        transaction.savepoint_rollback(mark)


def requested(listed):
    return [entry_point for entry_point in listed if entry_point.partition(" ")[2] in ROUTES]


def opening(entry_point, *others):
    """For whom the policy says that the entry_point opens (or answers one of `others`), by row."""
    method, _, name = entry_point.partition(" ")
    listed = cells_of(name) if name in TABLES else {}
    written, opens = COLUMNS[kind_of(name)], (*SUCCESS, *others)
    return {
        row: who for (how, row, who), status in listed.items() if how == method and who in written and status in opens
    }


def knock(scene, client, entry_point, row, text=None):
    """A well-meant request, or one with that text in place of every reason; answers the status."""
    method, _, name = entry_point.partition(" ")
    body = dict(scenario.body_of(name, method, row))
    if text is not None:
        body["data"] = with_text(body.get("data", {}), text)
    url = scenario.version_for(name, method, scene.url(ROUTES[name], row))
    send = getattr(client, method.lower())
    return (send(url, **body) if body else client.generic(method, url)).status_code


def with_text(data, text):
    if isinstance(data, str):
        return json.dumps(with_text(json.loads(data), text))
    also = {"notice"} if "description" in data else set()
    return {**data, **dict.fromkeys(SAID & set(data) | also, text)}


def test_every_entry_point_is_classified_once(scene):
    known = Counter(table.classified())
    found = table.all_entry_points(scene.users["olga"])

    assert found - set(known) == set(), "say in entry_points.toml what they can do"
    assert set(known) - found == set(), "they are no more"
    assert [entry_point for entry_point, times in known.items() if times > 1] == []


def test_what_is_called_harmless_changes_nothing_that_clients_see(scene, client_of):
    """Requested as the policy says that it works, with the jobs that it leaves."""
    before, wrong = visible.everything(), []
    assert len(before) > len(scenario.NAMES)
    for entry_point in requested(in_groups("harmless")):
        rows = opening(entry_point)
        for row in [row for row in ("public", *rows) if row in rows][:1]:
            with undone():
                status = knock(scene, client_of(rows[row]), entry_point, row)
                run_jobs()
                if status not in SUCCESS or visible.everything() != before:
                    wrong.append((entry_point, row, rows[row], status))
    assert wrong == []


def test_words_that_break_a_document_or_a_terminal_reach_none(scene, client_of):
    wrong = []
    for entry_point in requested(in_groups("words")):
        row, who = list(opening(entry_point, 302, 409, 422).items())[
            -1
        ]  # some acts have nothing to act on in this scene
        client = client_of(who)
        if who in scene.users:
            client.post(reverse("account_reauthenticate"), {"password": f"{who} likes pears", "next": "/"})
        for text in WORDS:
            with undone():
                status = knock(scene, client, entry_point, row, text)
                if (problems := visible.problems_of_lists()) or status >= 500:
                    wrong.append((entry_point, text, status, problems))
    assert wrong == []


def test_nor_by_the_admin(scene, browser_of):
    draft_client, wrong = browser_of(scene.users["olga"]), []
    for entry_point in in_groups("words", "admin"):
        label, _, action = entry_point.removeprefix("action ").rpartition(".")
        row = ROWS[label].earliest("pk")
        url = reverse("admin:{}_{}_changelist".format(*label.split(".")))
        for text in WORDS:
            told = dict.fromkeys(("reason", "replacement"), text) | {"confirm": str(row)}
            with undone():
                sent = {"action": action, "_selected_action": [row.pk], "apply": "1", **told}
                status = draft_client.post(url, sent).status_code
                if (problems := visible.problems_of_lists()) or status >= 500:
                    wrong.append((entry_point, text, status, problems))
    assert wrong == []


def test_nor_by_a_command(scene):
    assert in_groups("words", "command") == ["command purge"]
    for text in (one for one in WORDS if "\0" not in one):  # no argument holds one
        with undone(), suppress(CommandError):
            call_command("purge", "pantry/dns", "1.0.0", reason=text, confirm="pantry/dns 1.0.0", stdout=StringIO())
        assert visible.problems_of_lists() == [], text


# --- Keys ---

WEAK = ("rsa1024", "dsa", "secp256k1", "expired", "revoked", "certify-only")


def keys_that_break():
    """Section 3.6 of the client's facts: what some client does not read, or none should trust."""
    own, other = signing_key(), signing_key("foreign")
    v6 = bytes([6]) + bytes(4) + bytes([27]) + bytes(32)
    return {
        "two blocks": own.armor + other.armor,
        "a private key": own.secret_armor,
        "a private key behind its public one": own.armor + own.secret_armor,
        "of version 6": armored(packet(6, v6)),
        "of RFC 9580": armored(packet(6, bytes([4]) + v6[1:])),
        "garbage": armored(b"garbage"),
        "nothing": "",
        **{kind: signing_key(kind).armor for kind in WEAK},
    }


def test_case_23_s8_keys_that_clients_stumble_over_are_registered_by_no_entry_point(
    scene, tofu, browser_of, tmp_path, worker_host
):
    dora, before = scene.users["dora"], SigningKey.objects.count()
    assert in_groups("keys") == ["POST api:keys", "POST portal:key-add", "command import_signing_key"]
    api, browser = tofu(dora), browser_of(dora)
    browser.post(reverse("account_reauthenticate"), {"password": "dora likes pears", "next": "/"})
    for case, text in keys_that_break().items():
        assert api.post(KEYS, json.dumps({"armor": text}), content_type="application/json").status_code == 422, case
        assert browser.post("/namespaces/acme/keys/add", {"armor": text, "step": "save"}).status_code == 422, case
    for armor in (None, ["x"], {"a": 1}):
        assert api.post(KEYS, json.dumps({"armor": armor}), content_type="application/json").status_code == 422
    assert SigningKey.objects.count() == before


KEYS = "/api/v1/namespaces/acme/keys"


def test_nor_by_the_command_that_imports_private_ones(scene, tmp_path, worker_host):
    before = SigningKey.objects.count()
    secrets = {kind: signing_key(kind).secret_armor for kind in WEAK if kind != "revoked"}
    for case, text in (keys_that_break() | secrets).items():
        if case.startswith("a private key"):
            continue  # this is its way in
        (tmp_path / "key").write_text(text)
        with pytest.raises(CommandError, match=r"\w"):
            call_command("import_signing_key", namespace="acme", file=str(tmp_path / "key"), stdout=StringIO())
    assert SigningKey.objects.count() == before
