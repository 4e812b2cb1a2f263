"""The rows of an older Larder become those of this one, on a database that has them."""

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from apps.contrib.mirror.errors import Refused
from apps.contrib.mirror.models import KeyPin
from apps.contrib.mirror.tests import fetched
from apps.lib import versions
from tests.builders.keys import signing_key

FINGERPRINTS = {"trusted": "A" * 40, "waiting": "B" * 40}


def state(name: str) -> Any:
    """Migrate to it, and return the models of its time."""
    executor = MigrationExecutor(connection)
    executor.migrate([("upstream", name)])
    return MigrationExecutor(connection).loader.project_state([("upstream", name)]).apps


@pytest.fixture
def latest(transactional_db):
    """Afterwards all migrations are there again, for other tests."""
    names = [name for app, name in MigrationExecutor(connection).loader.graph.leaf_nodes() if app == "upstream"]
    yield
    state(names[0])


@pytest.mark.both
@pytest.mark.slow
def test_pins_alarms_and_lists_of_an_older_larder_are_taken_over(latest):
    old = state("0005_never_listed")
    make = {name: old.get_model("upstream", name).objects.create for name in ("Upstream", "KeyPin", "Alarm")}
    now = timezone.now()
    upstream = make["Upstream"](host="registry.other.example")
    listed = {"upstream": upstream, "namespace": "acme", "etag": '"1"', "last_modified": "then", "listed_at": now}
    tool, dns = (
        old.get_model("upstream", "UpstreamProvider").objects.create(type=one, **listed) for one in ("tool", "dns")
    )
    pins = {
        name: make["KeyPin"](upstream=upstream, namespace="acme", fingerprint=text, armor="-", state=name)
        for name, text in FINGERPRINTS.items()
    }
    for provider in (tool, dns):
        for number in ("1.0.0", "1.1.0"):
            signed = {"verdict": "pinned", "verified_at": now, "key": pins["trusted"]}
            old.get_model("upstream", "UpstreamVersion").objects.create(
                provider=provider,
                version=number,
                sort_key=versions.sort_key(number),
                is_listed=number != "1.0.0",
                first_seen_at=now,
                **signed,
            )
    about = {"upstream": upstream, "namespace": "acme", "seen_at": now}
    make["Alarm"](
        kind="key_changed",
        provider=dns,
        subject="registry.other.example/acme key " + FINGERPRINTS["waiting"],
        found={"fingerprint": FINGERPRINTS["waiting"]},
        **about,
    )
    make["Alarm"](
        kind="list_shrank",
        provider=tool,
        subject="registry.other.example/acme/tool",
        state="accepted",
        known={"vanished": ["1.0.0"], "more": 0},
        **about,
    )

    new = state("0006_own_pins_and_absences")
    rows = {name: new.get_model("upstream", name).objects for name in ("KeyPin", "Alarm", "UpstreamVersion")}
    found = rows["KeyPin"].values_list("provider__type", "fingerprint", "state")
    assert sorted(found) == [
        ("dns", FINGERPRINTS["trusted"], "trusted"),
        ("dns", FINGERPRINTS["waiting"], "waiting"),
        ("tool", FINGERPRINTS["trusted"], "trusted"),
    ]
    for version in rows["UpstreamVersion"].select_related("provider", "key"):
        assert version.key.provider_id == version.provider_id
        is_gone = (version.provider.type, version.version) == ("tool", "1.0.0")
        assert version.absence == ("gone" if is_gone else "")
    alarm = rows["Alarm"].get(kind="key_changed")
    assert (alarm.state, alarm.subject) == ("open", "registry.other.example/acme/dns key " + FINGERPRINTS["waiting"])
    lists = new.get_model("upstream", "UpstreamProvider").objects.values_list("etag", "last_modified")
    assert set(lists) == {("", "")}


# --- Pins of an older Larder, which were of namespaces ---------------------------------------------------------------

MIGRATION = import_module("apps.contrib.mirror.migrations.0006_own_pins_and_absences")


def migrate() -> None:
    schema_editor = connection.schema_editor(collect_sql=True)
    MIGRATION.give_pins_to_providers(apps, schema_editor)


def test_a_pin_that_an_older_process_writes_meanwhile_counts_for_what_it_signed(upstream, registry):
    tool = registry.add_provider(versions=["1.0.0", "1.1.0"])
    fetched.recorded(upstream, "1.0.0")
    KeyPin.objects.update(provider=None)
    tool.change_key(signing_key("rsa2048"))
    with pytest.raises(Refused, match="another key than before"):
        fetched.recorded(upstream, "1.1.0")
