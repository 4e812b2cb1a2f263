"""The effects of each verb: on the row, the audit, lists and readers."""

import pytest

from apps.accounts.access.gate import Viewer
from apps.audit.models import AuditEvent
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Conflict, NotFound, RoleRequired
from apps.modules import lifecycle
from apps.modules.catalogue import reading
from apps.modules.models import Module
from apps.releases.lifecycle.actions import VersionActions
from apps.releases.models import Release, SearchDoc
from tests.rows import for_each_row

pytestmark = pytest.mark.usefixtures("shelf")

ADDRESS = ModuleAddress("acme", "vpc", "aws")


@pytest.fixture
def act():
    def do(verb, user, version="1.2.0", reason="It loses data.", **more):
        return verb(viewer=Viewer(user), address=ADDRESS, version=version, reason=reason, **more)

    return do


def row(version="1.2.0"):
    return Release.objects.get(version=version)


def shown():
    doc = SearchDoc.objects.get()
    return doc.version, doc.lifecycle, doc.is_listed


def listed(user):
    return [version for version, _ in reading.listed_versions(Viewer(user), ADDRESS).versions]


def events():
    kinds = AuditEvent.objects.filter(kind__startswith="namespace:release:").order_by("pk")
    return [(event.kind.rpartition(":")[2], event.actor_id, event.detail.get("reason")) for event in kinds][3:]


@pytest.mark.both
def test_each_verb_writes_who_when_why_and_one_audit_row(published, act, alice, dora, olga):
    published()
    act(lifecycle.deprecate, alice, reason="  Too \n old. ", replacement="1.3.0")
    assert (row().lifecycle, row().lifecycle_reason, row().lifecycle_by) == ("deprecated", "Too old.", alice)
    act(lifecycle.yank, dora)
    assert (row().lifecycle, row().lifecycle_by, row().lifecycle_replacement) == ("yanked", dora, "1.3.0")
    assert row().lifecycle_at is not None
    act(lifecycle.quarantine, olga, reason="Malware.")
    assert (row().quarantine_reason, row().quarantined_by, row().lifecycle) == ("Malware.", olga, "yanked")
    act(lifecycle.restore, olga, reason="None.")
    assert (row().quarantined_at, row().quarantined_by, row().lifecycle) == (None, None, "yanked")
    act(lifecycle.restore, dora, reason="Repaired.")
    assert (row().lifecycle, row().lifecycle_reason, row().lifecycle_at) == ("maintained", "", None)

    assert events() == [
        ("deprecated", alice.pk, "Too old."),
        ("yanked", dora.pk, "It loses data."),
        ("quarantined", olga.pk, "Malware."),
        ("restored", olga.pk, "None."),
        ("restored", dora.pk, "Repaired."),
    ]


def test_lists_follow_at_once(published, act, alice, dora, olga):
    published(version="1.2.0")
    published(version="1.3.0")
    assert (listed(alice), shown()) == (["1.3.0", "1.2.0"], ("1.3.0", "maintained", True))

    act(lifecycle.deprecate, alice, "1.3.0")
    assert (listed(alice), shown()) == (["1.3.0", "1.2.0"], ("1.3.0", "deprecated", True))
    act(lifecycle.yank, dora, "1.3.0")
    assert (listed(alice), shown()) == (["1.2.0"], ("1.2.0", "maintained", True))
    act(lifecycle.yank, dora, "1.2.0")
    assert (listed(alice), shown()) == ([], ("1.3.0", "yanked", False))
    act(lifecycle.quarantine, olga, "1.3.0")
    assert (listed(alice), shown()) == ([], ("1.2.0", "yanked", False))
    act(lifecycle.quarantine, olga, "1.2.0")
    assert SearchDoc.objects.count() == 0
    with pytest.raises(NotFound):
        listed(alice)
    act(lifecycle.restore, olga, "1.2.0")
    assert shown() == ("1.2.0", "yanked", False)


def test_a_yanked_version_is_read_by_its_number_and_a_quarantined_one_only_by_staff(published, act, dora, bob, olga):
    published()
    act(lifecycle.yank, dora)
    assert reading.version_for(Viewer(bob), ADDRESS, "1.2.0").release.lifecycle == "yanked"
    assert reading.published_release(Viewer(bob), ADDRESS, "1.2.0").version == "1.2.0"

    act(lifecycle.quarantine, olga)
    for viewer, asked in ((bob, {}), (bob, {"even_quarantined": True}), (dora, {"even_quarantined": True}), (olga, {})):
        with pytest.raises(NotFound):
            reading.version_for(Viewer(viewer), ADDRESS, "1.2.0", **asked)
    with pytest.raises(NotFound):
        reading.published_release(Viewer(olga), ADDRESS, "1.2.0")
    assert reading.version_for(Viewer(olga), ADDRESS, "1.2.0", even_quarantined=True).release.version == "1.2.0"


def test_who_publishes_may_take_back_a_deprecation_but_not_a_yank(published, act, alice, dora):
    published()
    act(lifecycle.deprecate, alice)
    act(lifecycle.restore, alice)
    act(lifecycle.yank, dora)

    with pytest.raises(RoleRequired, match="owner"):
        act(lifecycle.restore, alice)
    assert AuditEvent.objects.filter(kind="account:permission:refused", actor_id=alice.pk).count() == 1
    assert row().lifecycle == "yanked"


@for_each_row(
    ("before", "verb", "words"),
    [
        (["deprecate"], "deprecate", "is deprecated since"),
        (["yank"], "deprecate", "is yanked since"),
        (["yank"], "yank", "is yanked since"),
        (["quarantine"], "deprecate", "is in quarantine since"),
        (["quarantine"], "yank", "is in quarantine since"),
        (["quarantine"], "quarantine", "is in quarantine since"),
        ([], "restore", "is maintained: there is nothing to restore"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else None,
)
def test_what_is_so_already_is_a_conflict(published, act, olga, before, verb, words):
    published()
    for one in before:
        act(getattr(lifecycle, one), olga)

    with pytest.raises(Conflict, match=words):
        act(getattr(lifecycle, verb), olga)
    assert len(events()) == len(before), "a refused act leaves no audit row of its own"


@pytest.mark.both
def test_of_two_who_act_at_once_the_second_changes_nothing(published, act, dora, monkeypatch):
    """Both have read the row before either wrote: the conditional UPDATE decides."""
    published()
    stale = row()
    act(lifecycle.yank, dora, reason="The first.")
    monkeypatch.setattr(VersionActions, "_found", lambda *_: stale)

    with pytest.raises(Conflict, match="Someone else has just changed"):
        act(lifecycle.deprecate, dora, reason="The second.")
    assert row().lifecycle_reason == "The first."


def test_a_purge_takes_the_rows_and_keeps_the_number(published, act, alice, olga, bob):
    published(version="1.2.0")
    published(version="1.3.0")
    act(lifecycle.purge, olga, "1.3.0", confirm="acme/vpc/aws 1.3.0")

    assert row("1.3.0").state == "purged"
    assert not hasattr(row("1.3.0"), "module_version")
    assert (listed(alice), shown()) == (["1.2.0"], ("1.2.0", "maintained", True))
    with pytest.raises(NotFound, match=r"was removed on .*: It loses data"):
        reading.version_for(Viewer(bob), ADDRESS, "1.3.0")
    act(lifecycle.purge, olga, "1.2.0", confirm=" acme/vpc/aws  1.2.0 ")
    assert SearchDoc.objects.count() == 0
    assert Module.objects.count() == 1, "the module stays, and with it who has published what"
    for verb in (lifecycle.deprecate, lifecycle.yank, lifecycle.quarantine, lifecycle.restore, lifecycle.purge):
        more = {"confirm": "acme/vpc/aws 1.2.0"} if verb == lifecycle.purge else {}
        with pytest.raises(Conflict, match=r"purged|was removed on"):
            act(verb, olga, **more)
