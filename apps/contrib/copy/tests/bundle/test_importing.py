"""What one registry published is published by another one, unchanged."""

import shutil

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace
from apps.artifacts.models import Manifest
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.copy.bundle import importing
from apps.contrib.copy.bundle.contents import BadBundle
from apps.contrib.copy.bundle.models import Bundle
from apps.lib.errors import Conflict
from apps.modules import lifecycle
from apps.provenance import origin
from apps.providers.models import ProviderVersion
from apps.releases.models import READY, Release
from apps.signing import keys
from tests import shelves
from tests.builders.archives import module_zip


def states() -> dict[str, tuple[str, str, bool]]:
    return {str(one): (one.state, one.lifecycle, one.quarantined_at is not None) for one in Release.objects.all()}


def test_a_bundle_is_published_with_the_same_bytes_and_signatures(carried, bring):
    assert bring().problems == []

    assert states() == {
        "acme/dns 1.2.0": ("published", "maintained", False),
        "acme/vpc/aws 1.0.0": ("published", "yanked", False),
        "acme/vpc/aws 1.2.0": ("published", "maintained", False),
        "pantry/dns 1.3.0": ("published", "maintained", False),
    }
    carried_items = {str(one): one for one in carried.opened().catalogue.items}
    for release in Release.objects.all():
        files = {f"sha256:{digest}" for digest in release.blobs.values_list("digest", flat=True)}
        assert set(carried_items[str(release)].files.values()) == (files or {f"sha256:{release.digest}"})
    assert {one.name: one.visibility for one in Namespace.objects.all()} == {"acme": "private", "pantry": "public"}


def test_a_version_that_was_yanked_is_never_listed_on_the_other_side(bring):
    bring()
    release = Release.objects.get(version="1.0.0")

    events = AuditEvent.objects.filter(subject=str(release)).order_by("pk").values_list("kind", flat=True)

    assert list(events)[-2:] == [Kind.RELEASE_PUBLISHED, Kind.RELEASE_YANKED]
    assert (release.lifecycle_reason, release.lifecycle_replacement) == ("It loses routes.", "1.2.0")


def test_the_origin_names_the_registry_the_bundle_and_the_key(carried, bring):
    bring()

    facts = {one.label: one.value for one in origin.of(Release.objects.get(version="1.3.0")).facts}

    assert facts["Registry"] == carried.opened().catalogue.registry
    assert facts["Bundle"].startswith(
        f"{carried.roots['whole']}, signed by {carried.opened().key_id[:16]}, imported 20"
    )


def test_importing_twice_changes_nothing(bring):
    bring()
    before, events = states(), AuditEvent.objects.count()

    outcome = bring()

    assert (outcome.begun, outcome.unchanged, outcome.problems) == ([], 4, [])
    assert (states(), AuditEvent.objects.count()) == (before, events)
    assert Bundle.objects.get().finished_at is not None


def test_an_import_that_was_interrupted_goes_on(carried, bring, olga, monkeypatch):
    publish, seen = importing._publish_provider, []

    def dies(opened, item, *rest):
        seen.append(item)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return publish(opened, item, *rest)

    monkeypatch.setattr(importing, "_publish_provider", dies)
    with pytest.raises(KeyboardInterrupt):
        bring()
    monkeypatch.undo()

    assert bring().problems == []
    assert [state for state, *_ in states().values()] == ["published"] * 4


def test_a_file_that_changes_between_verification_and_import_is_not_published(carried, olga, work, tmp_path):
    opened = carried.opened(shutil.copytree(carried.whole, tmp_path / "whole"))
    for digest in {one for item in opened.catalogue.items for one in item.files.values()}:
        with opened.path(digest).open("r+b") as file:
            file.write(b"X")

    outcome = importing.bring(opened, Viewer(olga))

    assert len(outcome.problems) == 4
    assert all("A file has changed since the bundle was verified" in one for one in outcome.problems)
    assert not Release.objects.filter(state__in=READY).exists()


def test_the_next_bundle_brings_what_is_new_and_withdraws_what_was_withdrawn(carried, bring):
    bring()
    size = sum(file.stat().st_size for file in carried.later.rglob("*") if file.is_file())

    outcome = bring(carried.later)

    assert outcome.changed == ["acme/vpc/aws 1.2.0 is in quarantine, as its registry has quarantined it."]
    assert states()["acme/vpc/aws 1.4.0"] == ("published", "maintained", False)
    assert states()["acme/vpc/aws 1.2.0"] == ("published", "maintained", True)
    assert len(carried.opened(carried.later).catalogue.blobs) < len(carried.opened().catalogue.blobs)
    assert size > 0


def test_a_bundle_that_counts_on_another_one_is_refused_without_it(carried, bring):
    with pytest.raises(Conflict, match=r"acme/dns 1.2.0 is not here, and the bundle leaves .+ out"):
        bring(carried.later)
    assert not Release.objects.exists()


def test_an_older_bundle_is_refused(carried, bring):
    bring()
    bring(carried.later)
    before = states()

    with pytest.raises(BadBundle, match="is older than that of"):
        bring()
    assert states() == before


def test_a_version_that_is_published_with_other_bytes_refuses_the_whole_bundle(alice, bring):
    shelves.publish("acme/vpc/aws", "1.2.0", None, alice)
    shelves.publish("acme/vpc/aws", "1.0.0", module_zip(comment=b"mine"), alice)

    with pytest.raises(Conflict, match=r"acme/vpc/aws 1\.0\.0 is published here with sha256:"):
        bring()
    assert Release.objects.count() == 2
    assert not Bundle.objects.exists()


def test_the_same_version_of_this_side_is_taken_for_it(alice, bring):
    shelves.publish("acme/vpc/aws", "1.2.0", None, alice)

    outcome = bring()

    assert (outcome.unchanged, outcome.problems) == (1, [])
    assert len(states()) == 4


def test_what_was_removed_here_stays_removed(bring, olga):
    bring()
    address = lifecycle.ACTIONS.address_of(Release.objects.get(version="1.0.0"))
    confirmed = "acme/vpc/aws 1.0.0"
    lifecycle.purge(viewer=Viewer(olga), address=address, version="1.0.0", reason="Ours.", confirm=confirmed)

    outcome = bring()

    assert outcome.left_out == ["acme/vpc/aws 1.0.0 was removed here, and stays removed."]


def test_a_key_that_was_revoked_is_revoked_on_the_other_side(carried, bring, olga):
    bring()
    key = ProviderVersion.objects.get(release__namespace__name="acme").key
    told = {"fingerprint": key.fingerprint, "armor": key.armor, "state": "revoked", "reason": "It leaked."}

    importing._settle_namespace("acme", {"visibility": "private", "keys": [told]}, Viewer(olga))

    key.refresh_from_db()
    assert (key.state, key.reason) == ("revoked", "It leaked.")
    assert keys.publisher_keys_of(key.namespace) == [key]


def test_a_person_who_may_not_publish_there_imports_nothing(carried, acme, pantry, bob, work):
    outcome = importing.bring(carried.opened(), Viewer(bob))

    assert len(outcome.problems) == 6
    assert not Release.objects.exists()
    assert not Manifest.objects.exists()
