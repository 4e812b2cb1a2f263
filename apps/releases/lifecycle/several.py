"""One act on several versions: each by its own verb and transaction, so that one that cannot holds up no other."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from apps.accounts.access.gate import Viewer
from apps.lib.errors import RegistryError
from apps.releases.lifecycle.actions import VersionActions
from apps.releases.models import Release

MAX_VERSIONS = 500
# Each of them has its own message.
MAX_NOTIFYING = 20


@dataclass(frozen=True, slots=True)
class Target:
    """A version at its address, with the actions of its kind."""

    actions: VersionActions[Any]
    address: Any
    version: str

    def __str__(self) -> str:
        return f"{self.address} {self.version}"


@dataclass(frozen=True, slots=True)
class Refused:
    target: Target
    error: RegistryError


def may_notify(namespaces: Iterable[str]) -> bool:
    """Return whether people can be notified of versions in these namespaces, one for each version: each version has its
    own message, about which the people of one namespace read.
    """
    found = list(namespaces)
    return len(found) <= MAX_NOTIFYING and len(set(found)) == 1


def carry_out(
    act: str,
    targets: Sequence[Target],
    *,
    viewer: Viewer,
    people_of: Callable[[Target], Collection[int]] | None = None,
    **said: Any,
) -> tuple[list[Release], list[Refused]]:
    """Return the versions afterwards, and those that were refused. `people_of` says whom to notify of one."""
    done, refused = [], []
    for target in targets:
        try:
            people = {"people": people_of(target)} if people_of is not None else {}
            verb = getattr(target.actions, act)
            done.append(verb(viewer=viewer, address=target.address, version=target.version, **said, **people))
        except RegistryError as error:
            refused.append(Refused(target, error))
    return done, refused
