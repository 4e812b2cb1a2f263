"""Fill an empty registry with the seed, as people would: by the verbs, and by workers who check what is published.

Each call does what is possible by now; the next one continues. So a process may end at any time.
"""

from collections.abc import Sequence
from functools import partial

import structlog
from django.db import transaction

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Role, Team, User, Visibility
from apps.accounts.people import service_accounts, teams
from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.contrib.demo.seed import Planned, module_archive, provider_packages, seed
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import RegistryError
from apps.modules import publishing as modules
from apps.providers import publishing as providers
from apps.releases.models import Kind, Release, State
from apps.signing import keys
from apps.signing.models import State as KeyState

log = structlog.get_logger("larder.demo")


def states() -> dict[tuple[str, str, str], str]:
    """Return the state of the latest release of each number, by its namespace, name and version."""
    rows = Release.objects.filter(namespace__name__in=seed().facts["namespaces"]).order_by("pk")
    return {(space, name, version): state for space, name, version, state in rows.values_list(*_COLUMNS)}


_COLUMNS = ("namespace__name", "name", "version", "state")


def fill(*, again: bool) -> bool:
    """Make people, and publish the next version of each module and provider. Return whether all are there.

    `again`: also those that a worker refused before.
    """
    _make_people()
    found, busy = states(), set[str]()
    for planned in seed().versions:
        state = found.get(planned.key)
        if state == State.PUBLISHED or planned.address in busy:
            continue
        busy.add(planned.address)  # its later versions are compared with this one
        if state is None or (state in (State.REJECTED, State.FAILED) and again) or state == State.RECEIVING:
            try:
                _publish(planned)
            except RegistryError as refusal:
                log.warning("demonstration_incomplete", release=str(planned), reason=str(refusal))
    return not busy


def viewer(username: str) -> Viewer:
    return Viewer(User.objects.get(username=username))


@transaction.atomic
def _make_people() -> None:
    """Make those who are not there: people, then their teams, then the namespaces of both."""
    facts = seed().facts
    known = set(User.objects.filter(username__in=facts["people"]).values_list("username", flat=True))
    for username in facts["people"].keys() - known:
        first, _, last = facts["people"][username].partition(" ")
        User.objects.create_user(username, first_name=first, last_name=last)  # without a password
        record(Event.USER_JOINED, actor_id=None, subject=username, how="demonstration")
    for name in facts["teams"].keys() - set(Team.objects.values_list("name", flat=True)):
        _make_team(name, **facts["teams"][name])
    for name in facts["namespaces"].keys() - set(Namespace.objects.values_list("name", flat=True)):
        _make_namespace(name, **facts["namespaces"][name])


def _make_team(name: str, *, description: str, members: Sequence[str], machine: str = "") -> None:
    manager, *others = members
    team = teams.create(name=name, actor=viewer(manager), description=description)
    for member in others:
        teams.add(team=team, user=User.objects.get(username=member), actor=viewer(manager))
    if machine:
        service_accounts.create(team=team, name=machine, actor=viewer(manager))


def _make_namespace(
    name: str, *, owner: str, description: str, publishers: Sequence[str], readers: Sequence[str] = ()
) -> None:
    actor = viewer(owner)
    space = namespaces.create(name=name, visibility=Visibility.PUBLIC, actor=actor, description=description)
    for role, names in ((Role.PUBLISHER, publishers), (Role.READER, readers)):
        for team in Team.objects.filter(name__in=names):
            namespaces.grant(namespace=space, grantee=team, role=role, actor=actor)


def _publish(planned: Planned) -> None:
    owner = viewer(seed().facts["namespaces"][planned.namespace]["owner"])
    if planned.kind == Kind.MODULE:
        archive = module_archive(planned.address, planned.version)
        modules.publish(
            viewer=owner,
            address=ModuleAddress.parse(planned.address),
            version=planned.version,
            file_name=f"{planned.name.partition('/')[0]}-{planned.version}.zip",
            open_body=lambda: [archive],
        )
    elif _has_key(planned.namespace, owner):
        release, _ = providers.open_draft(
            viewer=owner,
            address=ProviderAddress.parse(planned.address),
            version=planned.version,
            protocols=seed().facts["providers"][planned.address]["protocols"],
        )
        for name, package in provider_packages(planned.address, planned.version):
            providers.receive_file(viewer=owner, release=release, name=name, open_body=partial(iter, [package]))
        release.refresh_from_db()
        providers.hand_in(viewer=owner, release=release)


def _has_key(namespace: str, owner: Viewer) -> bool:
    """Return whether the registry can sign for the namespace; ask for a key if it has none."""
    space = Namespace.objects.get(name=namespace)
    if space.signing_keys.filter(state=KeyState.ACTIVE).exists():
        return True
    if not space.signing_keys.exists():
        keys.request(namespace=space, algorithm="ed25519", actor=owner)
    return False
