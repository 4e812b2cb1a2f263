"""What the routes of approvals name: a release of a CI run that awaits one, and people who took part in it.

Petra wrote the trusted publisher, Robin is a service account whose tokens she can make, and Quinn started the run.
"""

import json
import uuid

from allauth.socialaccount.models import SocialAccount
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import marks
from apps.accounts.models import Grant, Membership, Role
from apps.accounts.people import service_accounts, teams
from apps.releases.models import Kind, Release, State
from apps.releases.origin.models import Approval, Part, Participant
from tests.builders.archives import module_zip
from tests.builders.ci_claims import GITHUB_ISSUER
from tests.builders.ci_runs import add_rule
from tests.cast import person

DIGEST = "d" * 64
ON_ITS_WAY = dict.fromkeys(
    [f"{edge}:release-{act}" for edge in ("portal", "api") for act in ("approve", "decline")]
    + ["api:release-approval"],
    "awaiting_id",
)
NOWHERE = {"awaiting_id": uuid.UUID(int=0), "person": "nobody-here"}


ISSUER, SUBJECT = "https://idp.acme.example", "subject-of-quinn"


def others(spaces):
    """By their names in the policy's columns: owners everywhere, as Dora is."""
    petra, quinn = person("petra"), person("quinn")
    SocialAccount.objects.create(user=quinn, provider=ISSUER, uid=SUBJECT)
    team = teams.create(name="pipelines", actor=Viewer(petra))
    robin = service_accounts.create(team=team, name="robin", actor=Viewer(petra))
    for namespace in spaces:
        for holder in ({"user": petra}, {"user": quinn}, {"team": team}):
            Grant.objects.create(namespace=namespace, role=Role.OWNER, **holder)
    return {"petra": petra, "quinn": quinn, "robin": robin}


def place(namespace, users, team):
    """Petra and Quinn manage the team that Dora manages."""
    for manager in ("petra", "quinn"):
        Membership.objects.create(team=team, user=users[manager], is_manager=True)
    now = timezone.now()
    rule = add_rule(namespace, users["petra"], issuer=GITHUB_ISSUER, repository_id=None, ref="refs/tags/v*")
    release = Release.objects.create(
        kind=Kind.MODULE,
        namespace=namespace,
        name="vpc/aws",
        version="9.2.0",
        sort_key=b"\x00approval",
        state=State.AWAITING_APPROVAL,
        staging_key=uuid.uuid4().hex,
        created_by=rule.user,
        digest=DIGEST,
        uploaded_digest=DIGEST,
        uploaded_size=len(module_zip()),
        size=len(module_zip()),
        received_at=now,
        checked_at=now,
    )
    Participant.objects.create(release=release, mark=marks.of_subject(ISSUER, SUBJECT), part=Part.ACTOR)
    Approval.objects.create(release=release, digest=DIGEST, asked_at=now, until=now)
    return {"awaiting_id": release.public_id, "person": "alice"}


_SAID = {"digest": f"sha256:{DIGEST}"}
_NO = _SAID | {"reason": "No"}
BODIES = {
    ("portal:namespace-rules", "POST"): {"data": {"breaking_changes": "ask"}},
    ("portal:release-approve", "POST"): {"data": _SAID},
    ("portal:release-decline", "POST"): {"data": _NO},
    ("api:release-approve", "POST"): {"data": json.dumps(_SAID), "content_type": "application/json"},
    ("api:release-decline", "POST"): {"data": json.dumps(_NO), "content_type": "application/json"},
}
