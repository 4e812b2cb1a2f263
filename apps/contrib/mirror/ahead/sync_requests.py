"""The input of a sync: address patterns, a lock file, a required_providers block, and platforms.

Registries cannot be listed: a pattern with `*` matches the providers of which Larder has read a list before, because a
client or an earlier sync named them.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from django.conf import settings

from apps.contrib.mirror.ahead import lock_texts
from apps.contrib.mirror.ahead.lock_requests import checked_platforms
from apps.contrib.mirror.ahead.required_providers import parse_required
from apps.contrib.mirror.models import Upstream, UpstreamProvider
from apps.lib.errors import Invalid
from apps.lib.formats import lock_files
from apps.lib.formats.lock_files import Client, LockFile
from apps.lib.net import hostnames
from apps.lib.provider_constraints import Constraints

MAX_PATTERNS = 200
MAX_PROVIDERS = 1000
_WORD = re.compile(r"[0-9a-z*](?:-?[0-9a-z*])*", re.ASCII)
_PARTS = (2, 3)


@dataclass(frozen=True, slots=True)
class Pattern:
    """`[host/]namespace/type[@constraints]`; `*` matches any part. Without constraints: the newest release."""

    host: str
    namespace: str
    type: str
    constraints: Constraints | None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises Invalid."""
        address, at, constraints = text.strip().partition("@")
        parts = address.lower().split("/")
        if len(parts) not in _PARTS or not all(_WORD.fullmatch(part) for part in parts[-2:]):
            raise Invalid(
                f"Found the pattern {text.strip()[:100]!r}, expected [host/]namespace/type[@version].",
                hint="Write it such as registry.opentofu.org/hashicorp/random, or hashicorp/*@>=3.0.",
            )
        host = hostnames.normalised(parts[0]) if len(parts) == max(_PARTS) else ""
        return cls(host, parts[-2], parts[-1], Constraints.parse(constraints) if at else None)

    @property
    def is_exact(self) -> bool:
        return "*" not in self.namespace + self.type


@dataclass(frozen=True, slots=True)
class Wanted:
    """One provider. `version`: exactly this one; `every`: all versions that the constraints allow, else the newest."""

    upstream: Upstream
    namespace: str
    type: str
    constraints: Constraints
    version: str = ""
    every: bool = False

    def __str__(self) -> str:
        return f"{self.upstream.host}/{self.namespace}/{self.type}"


@dataclass(frozen=True, slots=True)
class Request:
    patterns: tuple[str, ...]
    lock: str
    required_providers: str
    platforms: tuple[str, ...]
    client: Client = Client.TOFU
    is_pinned: bool = False
    is_confirmed: bool = False  # fetch once the plan is made

    def as_json(self) -> dict[str, Any]:
        return {
            "patterns": list(self.patterns),
            "lock": self.lock,
            "required_providers": self.required_providers,
            "platforms": list(self.platforms),
            "client": str(self.client),
            "is_pinned": self.is_pinned,
            "is_confirmed": self.is_confirmed,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(
            patterns=tuple(data["patterns"]),
            lock=data["lock"],
            required_providers=data["required_providers"],
            platforms=tuple(data["platforms"]),
            client=Client(data["client"]),
            is_pinned=data["is_pinned"],
            is_confirmed=data["is_confirmed"],
        )

    def __str__(self) -> str:
        parts = [*self.patterns]
        if self.lock:
            parts.append("a lock file")
        if self.required_providers:
            parts.append("a required_providers block")
        return ", ".join(parts[:5]) + (f" and {len(parts) - 5} more" if len(parts) > 5 else "")  # noqa: PLR2004 - named


def read(
    *,
    patterns: Iterable[str] = (),
    lock: str = "",
    required_providers: str = "",
    platforms: Collection[str],
    client: str = "",
    is_pinned: bool = False,
    is_confirmed: bool = False,
) -> Request:
    """Raises Invalid for text that cannot be read; `wanted` finds out what of it is mirrored."""
    found = tuple(dict.fromkeys(text.strip() for text in patterns if text.strip()))
    if len(found) > MAX_PATTERNS:
        raise Invalid(f"{len(found):,} patterns are named, expected at most {MAX_PATTERNS}.")
    for text in found:
        Pattern.parse(text)
    if not found and not lock.strip() and not required_providers.strip():
        raise Invalid("Nothing is named to sync.", hint="Name patterns, a lock file or a required_providers block.")
    locks, _ = lock_texts.read(lock=lock, required_providers=required_providers, client=client)
    return Request(
        patterns=found,
        lock=lock if lock.strip() else "",
        required_providers=required_providers if required_providers.strip() else "",
        platforms=checked_platforms(platforms),
        client=locks.client,
        is_pinned=is_pinned,
        is_confirmed=is_confirmed,
    )


def wanted(request: Request) -> tuple[list[Wanted], list[str]]:
    """The providers to sync, and a sentence for each part of the request that names none."""
    enabled = {row.host: row for row in Upstream.objects.filter(is_enabled=True).order_by("host")}
    found: list[Wanted] = []
    problems: list[str] = []
    for text in request.patterns:
        matches = _matching(Pattern.parse(text), enabled)
        found += matches
        if not matches:
            problems.append(_nothing(text, enabled))
    locks = lock_files.parse_lock(request.lock) if request.lock else LockFile(request.client)
    required = {provider: (locked.constraints, locked.version) for provider, locked in locks.providers.items()}
    if request.required_providers:
        block = parse_required(request.required_providers, default_host=request.client.default_host)
        for provider, constraints in block.items():
            required.setdefault(provider, (constraints, ""))
    for provider, (constraints, version) in required.items():
        upstream = enabled.get(provider.host)
        if upstream is not None:
            found.append(Wanted(upstream, provider.namespace, provider.type, constraints, version))
        elif not hostnames.is_one_of(provider.host, (settings.PUBLIC_HOST, *settings.HOSTNAMES)):
            problems.append(f"{lock_files.written(provider)}: {provider.host} is not an enabled upstream.")
    if len(found) > MAX_PROVIDERS:
        raise Invalid(
            f"{len(found):,} providers match, expected at most {MAX_PROVIDERS:,}.", hint="Narrow the patterns."
        )
    return list(dict.fromkeys(found)), problems


def _matching(pattern: Pattern, enabled: Mapping[str, Upstream]) -> list[Wanted]:
    hosts = [enabled[pattern.host]] if pattern.host in enabled else [] if pattern.host else list(enabled.values())
    constraints, every = pattern.constraints or Constraints(), pattern.constraints is not None
    if pattern.is_exact and len(hosts) == 1:
        # Named completely: its list may never have been read.
        return [Wanted(hosts[0], pattern.namespace, pattern.type, constraints, every=every)]
    known = UpstreamProvider.objects.known().filter(upstream__in=hosts).order_by("upstream__host", "namespace", "type")
    return [
        Wanted(row.upstream, row.namespace, row.type, constraints, every=every)
        for row in known.filter(
            namespace__regex=_regex(pattern.namespace), type__regex=_regex(pattern.type)
        ).select_related("upstream")
    ]


def _regex(word: str) -> str:
    """Only letters, digits, dashes and `*` are left in a pattern."""
    return f"^{word.replace('*', '.*')}$"


def _nothing(text: str, enabled: Mapping[str, Upstream]) -> str:
    pattern = Pattern.parse(text)
    if pattern.host and pattern.host not in enabled:
        return f"{text}: {pattern.host} is not an enabled upstream."
    if pattern.is_exact:
        return f"{text}: name its host, one of {', '.join(enabled) or 'none, because no registry is mirrored'}."
    return f"{text}: no provider that Larder knows matches. Registries cannot be listed: name new providers completely."
