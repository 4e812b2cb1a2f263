"""The verbs on a release of any kind: where they may begin, what they say, and that they take turns."""

from functools import partial
from threading import Barrier

import pytest
from django.db import connection, transaction

from apps.accounts.access.gate import Viewer
from apps.lib.errors import Conflict, Invalid
from apps.modules.catalogue import entries
from apps.modules.models import Module, ModuleVersion
from apps.releases.lifecycle import purging, verbs
from apps.releases.models import Release, SearchDoc, State
from tests.rows import for_each_row
from tests.threads import at_once


@for_each_row("state", sorted(set(State.values) - {"published"}))
def test_only_what_is_published_has_a_lifecycle(published, alice, state):
    release = published()
    Release.objects.filter(pk=release.pk).update(state=state)
    release.refresh_from_db()

    for verb in (verbs.deprecate, verbs.yank, verbs.quarantine, verbs.restore):
        with pytest.raises(Conflict, match=f"is {state}: only published versions"):
            verb(release=release, actor=Viewer(alice), reason="No.")
    if state != "purged":
        with pytest.raises(Conflict):
            purging.purge(release=release, actor=Viewer(alice), reason="No.")
    assert Release.objects.get().state == state


def test_a_reason_is_one_line_of_plain_text():
    assert verbs.checked_reason("  It loses\r\n\tdata. ") == "It loses data."
    assert verbs.checked_reason("Ä" * 500) == "Ä" * 500
    assert verbs.checked_replacement("") == ""
    for text in ("", " \n", "x" * 501, "a\0b", "a\x1b[31mb", "a\u202eb"):
        with pytest.raises(Invalid):
            verbs.checked_reason(text)


@pytest.mark.both
def test_who_has_left_is_somebody_and_a_tombstone_says_when_and_why(published, charlie):
    release, gone = published(), published(version="1.3.0")
    verbs.yank(release=release, actor=Viewer(charlie), reason="It loses data")
    purging.purge(release=gone, actor=Viewer(charlie), reason="A key")
    charlie.delete()
    release.refresh_from_db()

    assert verbs.standing_of(release).endswith("by a former user: It loses data.")
    assert gone.removal == f"acme/vpc/aws 1.3.0 was removed on {gone.lifecycle_at:%Y-%m-%d}: A key."


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_two_who_write_versions_of_a_module_at_once_take_turns(published):
    """Each has written its version row before either asks for the module: the second sees what the first one did."""
    for version in ("1.0.0", "1.1.0"):
        published(version=version)
    SearchDoc.objects.all().delete()
    ModuleVersion.objects.all().delete()
    module = Module.objects.select_related("namespace").get()
    releases = list(Release.objects.order_by("pk"))
    both_have_written = Barrier(2 if connection.vendor == "postgresql" else 1)  # SQLite lets one write at a time

    @transaction.atomic
    def publish(release: Release) -> None:
        ModuleVersion.objects.create(module=module, release=release, is_prerelease=False)
        both_have_written.wait(timeout=30)
        entries.refresh(module)

    at_once(*(partial(publish, release) for release in releases))
    assert SearchDoc.objects.get().version == "1.1.0"
