"""Bring a verified bundle into this Larder by the verbs that publish, with audit, ledger and the checks of each upload.

Nothing begins unless everything fits: no version that is published here with other bytes, no older bundle. Repeating an
import continues it: what is published is compared, what is on its way is left alone.
"""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.utils import timezone

from apps.accounts import namespaces
from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Role
from apps.contrib.copy.bundle import contents, mirroring
from apps.contrib.copy.bundle.collecting import identity
from apps.contrib.copy.bundle.contents import QUARANTINED, WITHDRAWN, Item
from apps.contrib.copy.bundle.models import Bundle
from apps.contrib.copy.bundle.verifying import Opened
from apps.contrib.copy.tree.layout import Kind
from apps.http import mirrors
from apps.lib import versions
from apps.lib.addresses import ModuleAddress, ProviderAddress, canonical
from apps.lib.digests import DigestMismatch
from apps.lib.errors import Conflict, RegistryError
from apps.modules import checking, package_manifest
from apps.modules import lifecycle as module_lifecycle
from apps.modules import publishing as module_publishing
from apps.providers import lifecycle as provider_lifecycle
from apps.providers import publishing as provider_publishing
from apps.providers.drafting import drafts
from apps.releases.lifecycle import verbs
from apps.releases.lifecycle.actions import VersionActions
from apps.releases.models import READY, Lifecycle, Release, ReleaseQuerySet, State
from apps.releases.origin.models import Way, joined
from apps.releases.origin.recording import Fetched
from apps.releases.publishing import drafting, receiving, reserving, transitions
from apps.signing import keys
from apps.signing.models import State as KeyState

ACTIONS: dict[Kind, VersionActions[Any]] = {
    Kind.MODULE: module_lifecycle.ACTIONS,
    Kind.PROVIDER: provider_lifecycle.ACTIONS,
}
_LISTED = 10
_COMPARED = (
    *("kind", "name", "version", "sort_key", "state", "digest", "uploaded_digest", "lifecycle", "quarantined_at"),
    "namespace__name",
)


@dataclass(slots=True)
class Outcome:
    """The result of an import: releases that were begun, and sentences about the others."""

    begun: list[Release] = field(default_factory=list)
    unchanged: int = 0
    changed: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def releases(self) -> ReleaseQuerySet:
        """Their rows as they are now: workers publish what was begun."""
        return Release.objects.filter(pk__in=[one.pk for one in self.begun]).select_related("namespace")

    @property
    def is_under_way(self) -> bool:
        return self.releases.filter(state__in=READY).exists()


def bring(opened: Opened, viewer: Viewer, *, began: Callable[[Item], None] = lambda _: None) -> Outcome:
    """Import what is missing and carry what was withdrawn; workers publish. Raises BadBundle or Conflict before it
    changes anything: what `require_fitting` says.
    """
    known = require_fitting(opened)
    bundle, _ = Bundle.objects.get_or_create(
        root=opened.root,
        is_own=False,
        defaults={
            "registry": opened.catalogue.registry,
            "made_at": _made_at(opened),
            "payload": b"",
            "key_id": opened.key_id,
            "catalogue": zlib.compress(opened.catalogue.as_bytes()),
            "started_by": viewer.user,
        },
    )
    outcome = Outcome()
    for name, told in opened.catalogue.namespaces.items():
        _attempt(outcome, f"the namespace {name}", partial(_settle_namespace, name, told, viewer))
    for item in _in_order(opened):
        release = known.get(_key(item))
        if item.kind == Kind.MIRROR:
            _attempt(outcome, str(item), partial(_bring_mirrored, opened, item, viewer, outcome))
        elif release is None or release.state == State.RECEIVING:
            if item.files:
                began(item)
                _attempt(outcome, str(item), partial(_publish, opened, item, viewer, outcome))
        elif release.state == State.PUBLISHED:
            outcome.unchanged += 1
            _attempt(outcome, str(item), partial(_carry, item, release, viewer, outcome))
        elif release.state == State.PURGED and item.files:
            outcome.left_out.append(f"{item} was removed here, and stays removed.")
        elif item.files:
            outcome.begun.append(release)
    if not outcome.problems and not outcome.begun:
        Bundle.objects.filter(pk=bundle.pk, finished_at=None).update(finished_at=timezone.now())
    return outcome


def require_fitting(opened: Opened) -> dict[tuple[str, str, bytes], Release]:
    """Return the live releases that have a number of the bundle. Raises BadBundle and Conflict with all that does not
    fit.
    """
    catalogue = opened.catalogue
    newer = Bundle.objects.filter(is_own=False, registry=catalogue.registry, made_at__gt=_made_at(opened))
    if (found := newer.order_by("-made_at").first()) is not None:
        raise contents.BadBundle(
            f"The bundle of {catalogue.made_at} is older than that of {found.made_at.isoformat()}, which was imported "
            "here: it does not know what was withdrawn since.",
            hint="Import the newest bundle.",
        )
    live = Release.objects.live().filter(namespace__canonical__in=[canonical(name) for name in catalogue.namespaces])
    known = {
        (f"{one.kind}s", one.address.lower(), bytes(one.sort_key)): one
        for one in live.select_related("namespace").only(*_COMPARED).iterator()
    }
    refused = []
    for item in catalogue.items:
        release = known.get(_key(item))
        if release is not None and release.state == State.PUBLISHED and identity(release) != item.digest:
            refused.append(
                f"{item} is published here with sha256:{identity(release)}, in the bundle sha256:{item.digest}"
            )
        missing = [name for name, one in item.files.items() if release is None and one not in catalogue.blobs]
        if missing and item.kind != Kind.MIRROR:
            refused.append(
                f"{item} is not here, and the bundle leaves {missing[0]} out as known since {catalogue.since}"
            )
    if refused:
        more = len(refused) - _LISTED
        raise Conflict(
            "; ".join(refused[:_LISTED]) + (f"; and {more} more." if more > 0 else "."),
            hint="A published version never changes. Nothing was imported: ask for a bundle that fits, or a whole one.",
        )
    return known


def published(release: Release) -> None:
    """Do with a version that was imported what its registry had done, in the transaction that publishes it: so clients
    never see a yanked one in a list.
    """
    origin = joined(release, "origin")
    state = origin.facts.get("lifecycle") if origin is not None and origin.way == Way.COMMAND else ""
    if state:
        act = verbs.yank if state == Lifecycle.YANKED else verbs.deprecate
        told = {name: origin.facts[name] for name in ("reason", "replacement")}
        act(release=release, actor=Viewer(release.created_by), **told)
        ACTIONS[Kind(f"{release.kind}s")].refresh(release)


def _in_order(opened: Opened) -> Iterator[Item]:
    """Lower versions first, so that the guard compares with the one before."""
    return iter(sorted(opened.catalogue.items, key=lambda one: (one.kind, one.address, versions.sort_key(one.version))))


def _key(item: Item) -> tuple[str, str, bytes]:
    return item.kind, item.address.lower(), versions.sort_key(item.version)


def _made_at(opened: Opened) -> datetime:
    return datetime.fromisoformat(opened.catalogue.made_at)


def _attempt(outcome: Outcome, what: str, act: Callable[[], None]) -> None:
    try:
        act()
    except RegistryError as refused:
        outcome.problems.append(f"{what}: {refused} {refused.hint}".strip())


# --- Namespaces and keys ----------------------------------------------------------------------------------------------


def _settle_namespace(name: str, told: Any, viewer: Viewer) -> None:
    """Create it as it is there, or leave it as it is here; and register the public keys of its releases."""
    namespace = Namespace.objects.filter(canonical=canonical(name)).first()
    namespace = namespace or namespaces.create(name=name, visibility=told["visibility"], actor=viewer)
    known = {one.fingerprint: one for one in keys.namespace_keys(namespace)}
    for key in told["keys"]:
        here, is_revoked = known.get(key["fingerprint"]), key["state"] == KeyState.REVOKED
        if is_revoked != (here is not None) or (here is not None and here.state == KeyState.REVOKED):
            continue
        gate.namespace_for(viewer, namespace.name, need=Role.OWNER)
        if here is None:
            keys.register_or_renew(namespace=namespace, armor=key["armor"], actor=viewer)
        else:
            keys.revoke(key=here, actor=viewer, reason=key["reason"])


# --- Versions ---------------------------------------------------------------------------------------------------------


def _publish(opened: Opened, item: Item, viewer: Viewer, outcome: Outcome) -> None:
    crossed = f"{opened.root}, signed by {opened.key_id[:16]}, imported {timezone.now():%Y-%m-%d}"
    facts = {"registry": opened.catalogue.registry, "bundle": crossed}
    if item.state:
        facts |= {"lifecycle": item.state, "reason": item.reason, "replacement": item.replacement}
    fetched = Fetched(facts, {})
    publish = _publish_module if item.kind == Kind.MODULE else _publish_provider
    try:
        outcome.begun.append(publish(opened, item, viewer, fetched))
    except DigestMismatch as found:
        raise contents.BadBundle(
            f"A file has changed since the bundle was verified: {found}", hint="Copy the bundle again, and import that."
        ) from None


def _publish_module(opened: Opened, item: Item, viewer: Viewer, fetched: Fetched) -> Release:
    """Publish a package unchanged, or not at all. What its publisher was asked there, was answered there."""
    address = ModuleAddress.parse(item.address)
    coordinate = module_publishing.authorise_coordinate(viewer, address, item.version)
    (file_name, digest), *_ = item.files.items()
    served = Release(
        name=coordinate.name, version=item.version, digest=item.digest, size=opened.catalogue.blobs[digest]
    )
    release = reserving.reserve(
        coordinate=coordinate,
        viewer=viewer,
        file_name=file_name,
        provenance={
            "received_by": transitions.this_process(),
            package_manifest.PUSHED: package_manifest.digest_for(served),
        },
        way=Way.COMMAND,
        fetched=fetched,
        confirmed=[*sorted(checking.CONFIRMABLE), checking.CHOOSE_FOLDER],
        breaking_reason=f"Published by {opened.catalogue.registry}.",
    )
    return receiving.receive(
        release=release,
        chunks=opened.steps(digest),
        limit=settings.MODULE_ARCHIVE_MAX_BYTES,
        setting=module_publishing.LIMIT_SETTING,
        job=module_publishing.JOB,
        sha256=digest.removeprefix("sha256:"),
    )


def _publish_provider(opened: Opened, item: Item, viewer: Viewer, fetched: Fetched) -> Release:
    """With the sums and the signature of its registry, whose public key the namespace has now."""
    address = ProviderAddress.parse(item.address)
    release, _ = drafting.open_draft(
        coordinate=provider_publishing.authorise_coordinate(viewer, address, item.version),
        viewer=viewer,
        provenance={"received_by": transitions.this_process()},
        notes={drafts.DECLARED: list(item.protocols), drafts.WITHOUT_MANIFEST: True},
        way=Way.COMMAND,
        fetched=fetched,
    )
    for name, digest in item.files.items():
        body = partial(opened.steps, digest)
        file, _ = provider_publishing.receive_file(viewer=viewer, release=release, name=name, open_body=body)
        if digest != f"sha256:{file.digest}":  # on its way it is hashed once: what was verified may have changed
            provider_publishing.cancel(viewer=viewer, release=release)
            raise DigestMismatch(file.digest, digest.removeprefix("sha256:"))
    return provider_publishing.hand_in(viewer=viewer, release=release)


def _bring_mirrored(opened: Opened, item: Item, viewer: Viewer, outcome: Outcome) -> None:
    if mirrors.others is None:
        outcome.left_out.append(f"{item} is of another registry, and the mirror is left out here.")
    elif not mirroring.has_proof(item):
        outcome.left_out.append(f"{item} has no signature in this bundle: sync it here, or make the bundle again.")
    elif mirroring.bring(mirrors.others, opened, item, viewer):
        outcome.changed.append(f"{item} is in the mirror.")
    else:
        outcome.unchanged += 1


def _carry(item: Item, release: Release, viewer: Viewer, outcome: Outcome) -> None:
    """Withdraw here what was withdrawn there. What was taken back there stays as it is here: this side may have its own
    reasons.
    """
    actions = ACTIONS[Kind(item.kind)]
    order = ["", Lifecycle.DEPRECATED, Lifecycle.YANKED]
    now = "" if release.lifecycle == Lifecycle.MAINTAINED else release.lifecycle
    where: dict[str, Any] = {"viewer": viewer, "address": actions.address_of(release), "version": release.version}
    if release.quarantined_at is not None:
        return
    if item.state in WITHDRAWN:
        reason = item.reason or f"Withdrawn by {item.state}."
        actions.quarantine(**where, reason=reason)
        outcome.changed.append(f"{item} is in quarantine, as its registry has {_done(item)} it.")
    elif item.state and order.index(item.state) > order.index(now):
        act = actions.yank if item.state == Lifecycle.YANKED else actions.deprecate
        act(**where, reason=item.reason, replacement=item.replacement)
        outcome.changed.append(f"{item} is {item.state}.")


def _done(item: Item) -> str:
    return "quarantined" if item.state == QUARANTINED else "removed"
