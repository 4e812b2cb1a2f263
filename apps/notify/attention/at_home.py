"""The lines of each matter at home, for one person: with a button where they can act."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from apps.accounts.access import connections as connected
from apps.accounts.access import gate
from apps.accounts.models import ApiToken, Membership, Namespace, User
from apps.accounts.people import access_requests
from apps.notify.attention.matter import MOST, Item, Person
from apps.notify.attention.perhaps import EXPIRED_DAYS, TOKEN_DAYS
from apps.notify.models import Letter, LetterState, Preference
from apps.releases.catalogue import download_figures, reading
from apps.releases.lifecycle.impact import DAYS
from apps.releases.lifecycle.tombstones import taken_from
from apps.releases.models import Fetch, Kind, Lifecycle, Release, State
from apps.releases.origin.models import Approval, joined
from apps.releases.publishing import deciding
from apps.signing.expiring import expiring_in

STILL_USED = 5
# Publishers learn so late that a key is about to expire: before that it is a matter of its owners.
KEY_DAYS = 14
_STATES = {
    State.RECEIVED: "is waiting for a worker",
    State.CHECKING: "is being checked",
    State.SIGNING: "is being signed",
}


def approvals(person: Person) -> Iterator[Item]:
    asked, involved = person.waiting.approvals, person.waiting.involved
    rows = Release.objects.filter(pk__in=asked[:MOST]).select_related("namespace", "created_by", "approval")
    for release in rows.order_by("approval__asked_at", "pk") if asked else ():
        approval: Approval = joined(release, "approval")
        by = release.created_by.shown_name if release.created_by else "a former user"
        yield Item(
            f"{release} awaits your approval",
            reverse("portal:release", args=[release.public_id]),
            f"By {by}. {approval.summary}",
            act="Review and approve",
            tone="bad" if approval.is_breaking else "warn",
            picture="shield-check",
            at=approval.until,
        )
    if len(asked) > MOST:
        more = f"{len(asked) - MOST:,} more await your approval"
        count = len(asked) - MOST
        yield Item(more, reverse("portal:approvals"), act="Show all", tone="warn", picture="shield-check", count=count)
    if involved:  # by a machine that acts for the reader
        theirs = Release.objects.filter(pk__in=involved[:MOST]).select_related("namespace", "created_by")
        yield from _awaiting(person, list(theirs))


def _awaiting(person: Person, rows: list[Release]) -> Iterator[Item]:
    """Yield those that another person has to approve."""
    if not rows:
        return
    until = dict(Approval.objects.filter(release__in=rows).values_list("release", "until"))
    asked = deciding.perhaps_asked(rows)
    for release in rows:
        names = deciding.in_words([name for name in asked[release.pk] if name != person.user.username])
        yield Item(
            f"{release} is waiting for approval by {names or 'another publisher'}",
            reverse("portal:release", args=[release.public_id]),
            "" if names else "No one else has the role publisher yet.",
            picture="shield-check",
            at=until.get(release.pk),
        )


def releases(person: Person) -> Iterator[Item]:
    """Yield the person's own, and those of machines that wait for an answer by owners."""
    own = list(reading.waiting(person.viewer)[:MOST])
    yield from _awaiting(person, [one for one in own if one.state == State.AWAITING_APPROVAL])
    for release in (*_held_by_machines(person), *(one for one in own if one.state != State.AWAITING_APPROVAL)):
        state, url = State(release.state), reverse("portal:release", args=[release.public_id])
        if state == State.HELD:
            text = _found(release.questions)
            at = release.held_until
            yield Item(f"{release} needs your answer", url, text, "Answer", "warn", "package-plus", at)
        elif state == State.RECEIVING:
            what = "is a draft" if release.kind == Kind.PROVIDER else "has no file yet"
            at = release.receiving_until
            yield Item(f"{release} {what}", url, "Its number is reserved for you.", "Continue", "info", "upload", at)
        elif state in _STATES:
            yield Item(f"{release} {_STATES[state]}", url, picture="package-plus")
        else:
            what = "was rejected" if state == State.REJECTED else "failed"
            yield Item(f"{release} {what}", url, _found(release.reasons), "See why", "bad", "package-plus")


def _held_by_machines(person: Person) -> list[Release]:
    """A machine reads no questions: those of what Git or CI publishes are for the owners of the namespace."""
    held = Release.objects.filter(state=State.HELD, created_by__is_service=True, namespace__in=person.owned)
    return list(held.select_related("namespace").order_by("held_until", "pk")[:MOST])


def _found(reasons: list[dict[str, str]]) -> str:
    if not reasons:
        return ""
    more = f", and {len(reasons) - 1} more" if len(reasons) > 1 else ""
    return f"Found {reasons[0]['found']}{more}."


def requests(person: Person) -> Iterator[Item]:
    for one in access_requests.open_requests(person.owned, MOST) if person.owned_names else ():
        yield Item(
            f"{one.user.shown_name} requests publish access to {one.namespace}",
            access_requests.answer_path(one.namespace, one.user),
            one.reason or "No reason given.",
            act="Answer",
            picture="users",
        )


def connections(person: Person) -> Iterator[Item]:
    """Suspended connections do nothing until an owner confirms them; those that were left behind still work."""
    due: dict[Namespace, list[connected.Connected]] = {}
    for one in connected.to_do_in(person.owned) if person.owned_names else ():
        due.setdefault(one.row.namespace, []).append(one)
    for namespace, found in list(due.items())[:MOST]:
        waiting = sum(one.is_suspended for one in found)
        count = waiting or len(found)
        what = "connection" if count == 1 else "connections"
        verb = "needs" if count == 1 else "need"
        yield Item(
            f"{count} {'suspended ' if waiting else ''}{what} of {namespace} {verb} an owner",
            reverse("portal:namespace-connections", args=[namespace.name]),
            "Nothing works until you confirm it." if waiting else "Still working. Confirm or remove each.",
            act="Review",
            tone="warn",
            picture="triangle-alert",
        )


def keys(person: Person) -> Iterator[Item]:
    for expiry in expiring_in(person.publishing) if person.publishes else ():
        key, what = expiry.key, "has expired" if expiry.is_over else "expires"
        may_act = key.namespace.name in person.owned_names
        if not may_act and expiry.days > KEY_DAYS:
            continue
        yield Item(
            f"Signing key of {key.namespace} {what}",
            reverse("portal:key", args=[key.namespace.name, key.fingerprint]),
            f"{key.key_id}: add a new key, or extend it."
            if may_act
            else f"{key.key_id}: ask an owner for a new key. An expired key can't sign new versions.",
            act="Replace it" if may_act else "",
            tone=expiry.tone,
            picture="key-round",
            at=key.expires_at,
        )


def tokens(person: Person) -> Iterator[Item]:
    """Yield the person's own, and those of service accounts of their teams: managers create another."""
    now, user = timezone.now(), person.user
    teams = dict(Membership.objects.filter(user=user).values_list("team", "is_manager"))
    own, machines = User.objects.filter(pk=user.pk), User.objects.filter(service_of__in=list(teams), is_active=True)
    theirs = ApiToken.objects.filter(user__in=own.values("pk").union(machines.values("pk")))
    soon = theirs.filter(
        revoked_at=None,
        suspended_at=None,
        expires_at__gt=now - EXPIRED_DAYS,
        expires_at__lte=now + TOKEN_DAYS,
    )
    for token in soon.select_related("user__service_of").order_by("expires_at", "pk")[:MOST]:
        is_over, team = token.expires_at <= now, token.user.service_of
        whose, url, may_act = "Your token", reverse("portal:tokens"), True
        if token.user != user and team is not None:
            whose, may_act = f"Token of {token.user.username}", teams[team.pk]
            url = reverse("portal:service-account", args=[team.name, token.user.pk])
        ask = "Create another." if may_act else f"A manager of {team} can create another."
        yield Item(
            f"{whose} {'has expired' if is_over else 'expires'}",
            url if may_act or team is None else reverse("portal:team", args=[team.name]),
            f"Clients that use “{token.label}” {'' if is_over else 'will '}no longer work. {ask}",
            act="Replace it" if may_act else "",
            tone="bad" if is_over else "warn",
            picture="terminal",
            at=token.expires_at,
        )


def discouraged_versions(person: Person) -> Iterator[Item]:
    """Yield those of the person's namespaces that clients still fetch."""
    for one in download_figures.still_used(person.publishing, STILL_USED) if person.publishes else ():
        may_act = one.namespace in person.owned_names
        people = f", {one.people} {'person' if one.people == 1 else 'people'} signed in" if one.people else ""
        url = _page(one.kind, one.namespace, one.name, "notify" if may_act else "users")
        yield Item(
            f"{one.namespace}/{one.name} {one.version} is {one.lifecycle} and still used",
            f"{url}?version={one.version}" if may_act else url,
            f"{one.downloads} download{'' if one.downloads == 1 else 's'} in the last {DAYS} days{people}.",
            act="Notify users" if may_act else "",
            picture="users",
        )


def fetched_versions(person: Person) -> Iterator[Item]:
    """Yield deprecated and yanked versions that the person fetched lately."""
    fetched = Fetch.objects.filter(
        user=person.user,
        last_on__gt=timezone.now().date() - timedelta(days=DAYS),
        release__state=State.PUBLISHED,
        release__quarantined_at=None,
        release__lifecycle__in=[Lifecycle.DEPRECATED, Lifecycle.YANKED],
    )
    for fetch in fetched.select_related("release__namespace").order_by("-last_on", "-pk")[:MOST]:
        release = fetch.release
        # Rarely any, so that each is asked about.
        if gate.role_on(person.viewer, release.namespace) is None:
            continue
        use = f"Use {release.lifecycle_replacement} instead. " if release.lifecycle_replacement else ""
        yield Item(
            f"You use {release}, which is {release.lifecycle}",
            _page(release.kind, release.namespace.name, release.name, "version", release.version),
            f"{use}{release.lifecycle_reason}",
            tone="warn",
            picture="triangle-alert",
        )


def missed(person: Person) -> Iterator[Item]:
    """Say what mail could not reach the person for lack of an address. Without a mail server no address would help."""
    if person.user.email or settings.SMTP is None:
        return
    count = Letter.objects.filter(user=person.user, state=LetterState.MISSED).count()
    address = Preference.objects.filter(user=person.user).values_list("unconfirmed_address", flat=True).first()
    if not (count or address):
        return
    title = f"{count:,} message{'' if count == 1 else 's'} could not reach you"
    yield Item(
        title if count else "Your address is not confirmed",
        reverse("portal:mail"),
        f"Open the link that Larder sent to {address}." if address else "Larder has no mail address for you.",
        act="Confirm your address" if address else "Add an address",
        tone="warn",
        picture="mail",
    )


def taken(person: Person) -> Iterator[Item]:
    """Yield versions that operators took from the person's namespaces; of a purged one there is nothing left to do."""
    for release in taken_from(person.publishing, MOST) if person.publishes else ():
        is_purged = release.state == State.PURGED
        by, why = release.lifecycle_by, release.lifecycle_reason
        if not is_purged:
            by, why = release.quarantined_by, release.quarantine_reason
        page = [release.version] if not is_purged else []
        yield Item(
            f"{release} was {'purged' if is_purged else 'quarantined'} by {by.shown_name if by else 'a former user'}",
            _page(release.kind, release.namespace.name, release.name, "versions" if is_purged else "version", *page),
            why,
            act="" if is_purged else "See what to do",
            tone="bad",
            picture="trash-2" if is_purged else "octagon-alert",
        )


def _page(kind: str, namespace: str, name: str, page: str, *more: str) -> str:
    """Return the URL of a page of a module or provider, whose name is as releases store it: `vpc/aws`, or `dns`."""
    return reverse(f"portal:{kind}-{page}", args=[namespace, *name.split("/"), *more])
