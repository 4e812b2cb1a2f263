"""The people of a notice: who can act on it, and who is only told. The table says which of these for which event."""

from datetime import timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.accounts.access import gate
from apps.accounts.models import ApiToken, Namespace, Role, User
from apps.notify.attention.matter import Readers
from apps.notify.models import Watch
from apps.notify.notices import Notice
from apps.releases.lifecycle.impact import DAYS
from apps.releases.models import Fetch
from apps.releases.publishing import deciding
from apps.signing.models import SigningKey


def owners(subject: Notice | SigningKey) -> Readers:
    """Owners of the namespace, themselves or by a team; operators where there is none."""
    return [(owners_of(subject.namespace), "")]


def owners_of(namespace: Namespace | None) -> QuerySet[User]:
    if namespace is None:
        return User.objects.with_perm(gate.OPERATE).filter(is_staff=True)
    return gate.people_with(Role.OWNER, [namespace.name])


def approvers(notice: Notice) -> Readers:
    if notice.release is None:
        return ()
    return [(_people(deciding.approvers_of(notice.release)), "")]


def involved(notice: Notice) -> Readers:
    """Those behind a machine cannot approve what it published: each reads why, and whom to ask."""
    if notice.release is None:
        return ()
    _, refused = deciding.asked_and_refused(notice.release)
    whys = dict.fromkeys(refused.values())
    return [(_people({one for one in refused if refused[one] == why}), why) for why in whys]


def author(notice: Notice) -> Readers:
    """The author of a release; owners for that of a machine, which reads no mail, and of a person who has left."""
    release = notice.release
    by = release.created_by if release is not None else None
    if release is not None and (by is None or by.is_service or not by.is_active):
        return owners(notice)
    return [(User.objects.filter(pk=by.pk if by else 0), "")]


def holder(token: ApiToken) -> Readers:
    """The person of a token; for a service account the managers of its team."""
    team = token.user.service_of
    if token.user.is_service and team is not None:
        return [(User.objects.filter(memberships__team=team, memberships__is_manager=True), "")]
    return [(User.objects.filter(pk=token.user_id), "")]


def grantee(notice: Notice) -> Readers:
    user, team = notice.grantee
    found = Q(pk=user) if user else Q(memberships__team__name=team) if team else Q(pk=None)
    return [(User.objects.filter(found), "")]


def watchers(notice: Notice) -> Readers:
    return [(User.objects.filter(_watching(notice)), "")]


def users_of_version(notice: Notice) -> Readers:
    """People who watch it, downloaded the version lately, or are notified by the person who acts."""
    found = _watching(notice) | Q(pk__in=notice.people)
    if notice.release is not None:
        since = timezone.now().date() - timedelta(days=DAYS)
        found |= Q(pk__in=Fetch.objects.filter(release=notice.release, last_on__gte=since).values("user"))
    return [(User.objects.filter(found), "")]


def addressed(notice: Notice) -> Readers:
    """Those to whom an owner writes."""
    return [(User.objects.filter(pk__in=notice.people), "")]


def _watching(notice: Notice) -> Q:
    name = notice.address.partition("/")[2]
    return Q(pk__in=Watch.objects.filter(namespace=notice.namespace, name__in=["", name]).values("user"))


def _people(found: set[User]) -> QuerySet[User]:
    return User.objects.filter(pk__in=[one.pk for one in found])
