"""Lifecycle actions on a published version at its address (D9), for every kind: the gate, the verb, the catalogue.

Deprecating breaks no user, so publishers do it. Yanking breaks those who pinned or locked the version, so it needs an
owner, and so does taking a yank back; for 72 hours, while few have, publishers yank what they published themselves.
Quarantine, purge and verifying are for staff. A refused attempt is recorded by the gate, which is asked outside the
transaction so that its row stays.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.accounts.access import gate, operators
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role
from apps.lib.errors import Invalid, NotFound, RoleRequired
from apps.releases.lifecycle import purging, verbs, verification
from apps.releases.lifecycle.impact import Act
from apps.releases.models import Lifecycle, Release, State

# The permissions of staff: the admin asks for the same ones before it offers an act.
DEPRECATE, YANK, QUARANTINE, RESTORE, PURGE, VERIFY = (
    f"releases.{act}_release" for act in ("deprecate", "yank", "quarantine", "restore", "purge", "verify")
)

_OF_STAFF = {Act.QUARANTINE: QUARANTINE, Act.PURGE: PURGE}

# How long after publishing its publisher may yank a version.
OWN_YANK_HOURS = 72


def role_to_yank(viewer: Viewer, release: Release) -> Role:
    """The role that yanking needs, or taking back a yank: publishers take back only their own."""
    is_own = release.created_by_id is not None and release.created_by_id == viewer.user_id
    until = own_yank_until(release)
    is_new = until is not None and timezone.now() < until
    is_theirs_to_restore = release.lifecycle != Lifecycle.YANKED or release.lifecycle_by_id == viewer.user_id
    return Role.PUBLISHER if is_own and is_new and is_theirs_to_restore else Role.OWNER


def own_yank_until(release: Release) -> datetime | None:
    return release.published_at + timedelta(hours=OWN_YANK_HOURS) if release.published_at else None


class Address(Protocol):
    @property
    def namespace(self) -> str: ...

    @property
    def path_name(self) -> str: ...

    @staticmethod
    def spelled(namespace: str) -> str: ...


A = TypeVar("A", bound=Address)


class VersionActions(ABC, Generic[A]):
    """The actions on one kind's versions. The kind says where they are, and what else changes with them."""

    address_type: type[A]
    verify_job: str = verification.JOB

    @abstractmethod
    def address_of(self, release: Release) -> A: ...

    @abstractmethod
    def coordinate_of(self, address: A, version: str) -> Q:
        """The releases with that number, in any state. Raises NotFound where no version can be."""

    @abstractmethod
    def refresh(self, release: Release) -> None:
        """Update what lists say of the module or provider, in the transaction of the action."""

    @abstractmethod
    def drop(self, release: Release) -> None:
        """Delete the kind's own rows of a version that is purged."""

    @abstractmethod
    def default_version(self, release: Release) -> Any:
        """The version that pages show first; None if none is published."""

    def deprecate(
        self,
        *,
        viewer: Viewer,
        address: A,
        version: str,
        reason: str,
        replacement: str = "",
        people: Collection[int] = (),
    ) -> Release:
        """Advise against a version; it stays listed and served. Publishers."""
        release = self.release_of(viewer, address, version, permission=DEPRECATE)
        said: dict[str, Any] = {"reason": reason, "replacement": replacement, "people": people}
        return self._done(release, partial(verbs.deprecate, release=release, actor=viewer, **said))

    def yank(
        self,
        *,
        viewer: Viewer,
        address: A,
        version: str,
        reason: str,
        replacement: str = "",
        people: Collection[int] = (),
    ) -> Release:
        """Take a version out of lists; exact downloads and pages still work. Owners; publishers for `role_to_yank`."""
        release = self.release_of(viewer, address, version, permission=YANK)
        release = self._yankable(viewer, address, version, release, YANK)
        said: dict[str, Any] = {"reason": reason, "replacement": replacement, "people": people}
        return self._done(release, partial(verbs.yank, release=release, actor=viewer, **said))

    def quarantine(
        self, *, viewer: Viewer, address: A, version: str, reason: str, people: Collection[int] = ()
    ) -> Release:
        """Serve nothing of a version, nor of others with the same bytes. Staff."""
        release = self.operated_release(viewer, address, version, QUARANTINE)
        act = partial(verbs.quarantine, release=release, actor=viewer, reason=reason, people=people)
        return self._done(release, act)

    def restore(self, *, viewer: Viewer, address: A, version: str, reason: str) -> Release:
        """Undo a deprecation (publishers), a yank (who may yank) or a quarantine (staff), whichever lies on top."""
        release = self.release_of(viewer, address, version, permission=RESTORE)
        if release.quarantined_at is not None:
            release = self.operated_release(viewer, address, version, RESTORE)
        elif release.lifecycle == Lifecycle.YANKED:
            release = self._yankable(viewer, address, version, release, RESTORE)
        return self._done(release, partial(verbs.restore, release=release, actor=viewer, reason=reason))

    def end_cooldown(self, *, viewer: Viewer, address: A, version: str, reason: str) -> Release:
        """Show a release to clients before its cool-down ends. Owners."""
        release = self.release_of(viewer, address, version, need=Role.OWNER)
        return self._done(release, partial(verbs.end_cooldown, release=release, actor=viewer, reason=reason))

    def purge(
        self,
        *,
        viewer: Viewer,
        address: A,
        version: str,
        reason: str,
        confirm: str,
        people: Collection[int] = (),
    ) -> Release:
        """Remove a version for good: its rows now, its bytes by a worker. The number stays taken. Staff.

        `confirm` is the full address and version, as typed.
        """
        release = self.operated_release(viewer, address, version, PURGE)
        return self._purge(release, viewer, reason, confirm, people)

    def purge_here(self, *, address: A, version: str, reason: str, confirm: str) -> Release:
        """Purge like `purge`, for the person at the machine itself: no gate is asked, and the audit names no
        account.
        """
        return self._purge(self._found(address, version), gate.NOBODY, reason, confirm)

    def verify(self, *, viewer: Viewer, address: A, version: str) -> Release:
        """Have a worker read its stored bytes again. Staff."""
        release = self.operated_release(viewer, address, version, VERIFY)
        verification.request(release, actor=viewer, job=self.verify_job)
        return release

    def release_of(
        self, viewer: Viewer, address: A, version: str, *, need: Role = Role.PUBLISHER, permission: str = ""
    ) -> Release:
        """The published version, for those who may act on it; one in quarantine for staff alone. Staff who hold no role
        there themselves need the permission of the act as well.
        """
        if permission:
            operators.namespace_for_act(
                viewer,
                address.namespace,
                need=need,
                permission=permission,
                only_name=address.path_name,
                spelled=address.spelled,
            )
            return self._shown(viewer, address, version)
        return self.release_and_role(viewer, address, version, need=need)[0]

    def release_and_role(
        self, viewer: Viewer, address: A, version: str, *, need: Role = Role.PUBLISHER
    ) -> tuple[Release, Role]:
        _, role = gate.namespace_and_role(
            viewer, address.namespace, need=need, only_name=address.path_name, spelled=address.spelled
        )
        return self._shown(viewer, address, version), role

    def weighed(self, viewer: Viewer, address: A, version: str, act: Act) -> tuple[Release, Role]:
        """Return the version and the role with which the viewer reads what the act does to its users: those who may do
        it, and publishers for a yank. Raises as the act does.
        """
        if permission := _OF_STAFF.get(act):
            release, role = self.operated_release(viewer, address, version, permission), Role.OWNER
        else:
            release, role = self.release_and_role(viewer, address, version)
        if obstacle := verbs.obstacle_to(act, release):
            raise obstacle
        return release, role

    def _shown(self, viewer: Viewer, address: A, version: str) -> Release:
        release = self._found(address, version)
        if release.quarantined_at is not None and not operators.is_operator(viewer):
            raise _unknown(address, version)
        return release

    def _yankable(self, viewer: Viewer, address: A, version: str, release: Release, permission: str) -> Release:
        """`release` is what `release_of` gave a publisher: only a higher role is asked for once more."""
        need = role_to_yank(viewer, release)
        if need == Role.PUBLISHER:
            return release
        try:
            return self.release_of(viewer, address, version, need=need, permission=permission)
        except RoleRequired as refusal:
            own = f"Publishers can yank their own versions within {OWN_YANK_HOURS} hours."
            raise RoleRequired(str(refusal), hint=f"{refusal.hint} {own}".strip()) from None

    def operated_release(self, viewer: Viewer, address: A, version: str, permission: str) -> Release:
        """The version, which may be a tombstone, for staff with the permission."""
        operators.operated_namespace(
            viewer, address.namespace, permission=permission, only_name=address.path_name, spelled=address.spelled
        )
        return self._found(address, version)

    def _found(self, address: A, version: str) -> Release:
        """Return the release with that number, which may be a tombstone: the verbs refuse those."""
        states = [State.PUBLISHED, State.PURGED]
        rows = Release.objects.filter(self.coordinate_of(address, version), state__in=states)
        release = rows.select_related("namespace", "lifecycle_by", "quarantined_by").first()
        if release is None:
            raise _unknown(address, version)
        return release

    def _purge(
        self, release: Release, actor: Viewer, reason: str, confirm: str, people: Collection[int] = ()
    ) -> Release:
        if confirm.split() != str(release).split():
            raise Invalid(
                f"The confirmation is {confirm[:200]!r}, expected {str(release)!r}.",
                hint="Type the address and the version exactly: this cannot be undone.",
            )

        def act() -> None:
            purging.purge(release=release, actor=actor, reason=reason, people=people)
            self.drop(release)

        return self._done(release, act)

    def _done(self, release: Release, act: Callable[[], None]) -> Release:
        """The act and what lists say afterwards, in one transaction."""
        with transaction.atomic():
            act()
            self.refresh(release)
        return release


def _unknown(address: Address, version: str) -> NotFound:
    return NotFound(f"There is no version {version} of {address}.")
