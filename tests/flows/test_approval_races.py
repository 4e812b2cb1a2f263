"""Two decisions about one release at once: exactly one counts."""

import pytest

from apps.accounts.access.gate import Viewer
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.lib.errors import Conflict
from apps.releases.models import Release
from apps.releases.origin.models import Decision
from apps.releases.publishing import approving
from tests.builders.approving import ask_for_approval, publisher
from tests.threads import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both]


@pytest.mark.parametrize("verbs", [("approve", "approve"), ("approve", "decline"), ("decline", "decline")])
def test_of_two_decisions_at_once_the_second_is_a_conflict(acme, alice, bob, dora, published, verbs):
    publisher(bob, acme)
    ask_for_approval(acme)
    release = published()

    def call(user, verb):
        own = Release.objects.select_related("namespace").get(pk=release.pk)
        said = {"reason": "No"} if verb == "decline" else {}
        return getattr(approving, verb)(release=own, viewer=Viewer(user), digest=release.digest, **said)

    done = at_once(lambda: call(bob, verbs[0]), lambda: call(dora, verbs[1]))

    assert [type(one) for one in done if isinstance(one, Exception)] == [Conflict]
    decided = AuditEvent.objects.filter(kind__in=["namespace:release:approved", "namespace:release:declined"])
    assert decided.count() == 1
    approved = decided.filter(kind="namespace:release:approved").count()
    assert Job.objects.filter(kind="publish-module", state="queued").count() == approved


def test_a_decision_about_a_row_that_was_asked_anew_is_a_conflict(acme, alice, bob, published):
    """The worker of the first approval found other bytes while this request had the old row."""
    publisher(bob, acme)
    ask_for_approval(acme)
    release = published()
    row = release.approval
    type(row).objects.filter(pk=row.pk).update(digest="f" * 64)

    with pytest.raises(Conflict, match="just now"):
        approving._decide(row, Viewer(bob), Decision.APPROVED)
