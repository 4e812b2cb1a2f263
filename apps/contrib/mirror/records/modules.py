"""Modules of another registry (modules.v1): their versions, what policy says of each, and where a version is.

https://opentofu.org/docs/internals/module-registry-protocol/. There are no rows: callers remember the versions.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import quote

import structlog
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.contrib.mirror.asking import registry_calls, upstreams
from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.models import Upstream, UpstreamVersion, Verdict
from apps.contrib.mirror.policy import evaluation
from apps.contrib.mirror.policy.evaluation import Decision, Policy
from apps.contrib.mirror.policy.policy_exceptions import ModuleVersion
from apps.contrib.mirror.records import dates
from apps.lib import versions
from apps.lib.errors import Conflict, Invalid, NotFound
from apps.releases.origin import other_registries

MAX_BYTES = 16 * 1024 * 1024
MAX_VERSIONS = 10_000
MAX_LOCATION_BYTES = 64 * 1024
_HOST = re.compile(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+", re.ASCII)
_NAME = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?", re.ASCII)
_SYSTEM = re.compile(r"[0-9a-z]{1,64}", re.ASCII)
_HINT = "Write it such as registry.opentofu.org/terraform-aws-modules/vpc/aws."

log = structlog.get_logger("larder.upstream")


@dataclass(frozen=True, slots=True)
class HostedModule:
    host: str
    namespace: str
    name: str
    system: str

    def __str__(self) -> str:
        return f"{self.host}/{self.address}"

    @property
    def address(self) -> str:
        """Without the host."""
        return f"{self.namespace}/{self.name}/{self.system}"

    @property
    def policy_address(self) -> str:
        """The text that patterns of rules are compared with, like the address of a provider."""
        return f"{self.namespace}/{self.name}".lower()


@dataclass(frozen=True, slots=True)
class ListedVersion:
    """`published_at`: the earliest date that the registry states. `is_old`: in a first list it counts as old."""

    version: str
    sort_key: bytes
    published_at: datetime | None
    is_old: bool = False


@dataclass(frozen=True, slots=True)
class KnownVersion:
    """`first_seen_at` and the rest count as those of a provider's version do."""

    version: str
    sort_key: bytes
    first_seen_at: datetime
    published_at: datetime | None = None
    was_in_first_list: bool = False


def parse_address(text: str) -> HostedModule | None:
    """Return None for what is not host/namespace/name/system, such as the URL of a Git repository. Raises Invalid for
    one with a name that no registry has.
    """
    host, *names = text.strip().split("/")
    if not _HOST.fullmatch(host) or len(names) != 3:  # noqa: PLR2004
        return None
    namespace, name, system = names
    if not (_NAME.fullmatch(namespace) and _NAME.fullmatch(name) and _SYSTEM.fullmatch(system)):
        raise Invalid(f"{text[:120]!r} is not the address of a module in a registry.", hint=_HINT)
    return HostedModule(host.lower(), namespace, name, system)


def require_mirrored(viewer: Viewer, module: HostedModule) -> None:
    """Raises NotFound for a registry that is not mirrored or that the viewer does not see, and Conflict."""
    found = upstreams.enabled(module.host)
    if found is None or not upstreams.sees(viewer, found):
        raise NotFound(
            f"This Larder mirrors no registry {module.host[:80]!r} that you can see.",
            hint="Ask an operator to mirror it, or connect the module's Git repository by its URL.",
        )
    if problem := _unusable(found):
        raise Conflict(problem, hint="Ask an operator.")


def upstream_of(module: HostedModule) -> Upstream:
    """Raises FetchFailed for a registry that may not be asked now."""
    found = upstreams.enabled(module.host)
    problem = _unusable(found) if found else f"{module.host} is not mirrored: no registry of that name is enabled"
    if found is None or problem:
        raise FetchFailed("upstream_off", problem, url=f"https://{module.host}", rule="upstream")
    return found


def listed(upstream: Upstream, module: HostedModule, *, known: Collection[str] = ()) -> list[ListedVersion]:
    """Ask the registry. Versions that are not SemVer are left out, as clients do. Raises FetchFailed.

    `known`: the versions whose dates are not asked for again.
    """
    url = _url(upstream, module, "versions")
    body = registry_calls.get_json(upstream, url, max_bytes=MAX_BYTES).body
    found, skipped = parse(body, url=url)
    if skipped:
        log.warning("upstream_versions_skipped", module=str(module), versions=skipped)
    undated = {one.version: one.sort_key for one in found if one.published_at is None and one.version not in known}
    said = dates.asked(upstream, url, dates.MODULES, undated)
    highest = max((one.sort_key for one in found), default=b"")
    return [
        replace(
            one,
            published_at=(said or {}).get(one.sort_key, one.published_at),
            is_old=said is not None and one.sort_key != highest,
        )
        for one in found
    ]


def location_of(upstream: Upstream, module: HostedModule, version: str) -> str:
    """Return where the registry says that the version is, as it says it. Raises FetchFailed."""
    url = _url(upstream, module, version, "download")
    found = registry_calls.get_location(upstream, url, max_bytes=MAX_LOCATION_BYTES)
    if not found:
        text = "The response has no location: found neither X-Terraform-Get nor a JSON `location`"
        raise FetchFailed("no_location", text, url=url, rule="shape", is_final=True)
    return found


def decider(upstream: Upstream, module: HostedModule) -> Callable[[KnownVersion, datetime], Decision]:
    """Return a function that decides about a version at a time. Policy and the exceptions in force are read once.

    Rules for platforms and advisories are about providers, and do not match. Registries sign no modules, so a rule
    `signed_only` refuses them.
    """
    found = Policy.of(upstream).for_address(module.policy_address)
    rules = replace(found, address=f"{module.policy_address}/{module.system}", advisories=())
    exceptions = evaluation.exceptions_of_module(upstream, module.address, now=timezone.now())

    def decide(known: KnownVersion, now: datetime) -> Decision:
        row = UpstreamVersion(
            version=known.version,
            sort_key=known.sort_key,
            first_seen_at=known.first_seen_at,
            published_at=known.published_at,
            was_in_first_list=known.was_in_first_list,
            verdict=Verdict.NO_KEY,
        )
        exception = exceptions.get(known.sort_key)
        return rules.decide(row, now=now, exception=exception, platform=evaluation.OTHER)

    return decide


def known_version(upstream: Upstream, *, module: str, version: str) -> ModuleVersion:
    """Return it, matched by value, for the address namespace/name/system. Raises NotFound, and Invalid for what is
    neither an address nor a version.
    """
    text = version.strip().removeprefix("v")
    key = versions.sort_key(text)
    found = parse_address(f"{upstream.host}/{module.strip().lower()}")
    if found is None:
        raise Invalid(
            f"{module[:120]!r} is not the address of a module in a registry.",
            hint="Write namespace/name/system, such as terraform-aws-modules/vpc/aws.",
        )
    listed = other_registries.listed_version(str(found), key)
    if not listed:
        raise NotFound(
            f"Larder knows no version {text[:128]} of {found}.",
            hint="Connect the module to a namespace, or sync its repository.",
        )
    return ModuleVersion(upstream, found.address, listed)


def parse(body: Any, *, url: str) -> tuple[list[ListedVersion], int]:
    """Return the versions, and how many were left out. Raises FetchFailed for a document of another shape."""
    modules = body.get("modules") if isinstance(body, dict) else None
    first = modules[0] if isinstance(modules, list) and modules else None
    entries = first.get("versions") if isinstance(first, dict) else None
    if not isinstance(entries, list):
        raise _wrong(url, "no such list", "an object with `modules`, whose first one has a list `versions`")
    if len(entries) > MAX_VERSIONS:
        text = f"The list has {len(entries):,} versions, expected at most {MAX_VERSIONS:,}"
        raise FetchFailed("too_many_versions", text, url=url, rule="max_versions", is_final=True)
    found: dict[bytes, ListedVersion] = {}
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("version"), str):
            raise _wrong(url, "an entry without", "an object with a `version` for each version")
        try:
            version = versions.parse(entry["version"])
        except Invalid:
            continue
        found.setdefault(version.sort_key, ListedVersion(version.text, version.sort_key, dates.stated(entry)))
    return list(found.values()), len(entries) - len(found)


def _url(upstream: Upstream, module: HostedModule, *rest: str) -> str:
    base = registry_calls.discover_modules(upstream).rstrip("/")
    parts = (module.namespace, module.name, module.system, *rest)
    return "/".join([base, *(quote(part, safe="") for part in parts)])


def _unusable(upstream: Upstream) -> str:
    """Why none of its modules is published here; empty if they are."""
    if upstream.is_sealed:
        return f"{upstream} is in offline mode: nothing is fetched from it"
    if upstream.terraform_only:
        return (
            f"The upstream {upstream} is for Terraform alone, by that registry's terms, and a published module is for "
            "all clients"
        )
    return ""


def _wrong(url: str, found: str, expected: str) -> FetchFailed:
    message = f"The list of versions has another shape: found {found}, expected {expected}"
    return FetchFailed("bad_shape", message, url=url, rule="shape", is_final=True)
