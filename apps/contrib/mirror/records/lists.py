"""The list of a provider's versions: read, compared with what is known, and refreshed conditionally."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import structlog
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.audit import generation
from apps.contrib.mirror.asking import registry_calls
from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.models import Absence, AlarmKind, UpstreamProvider, UpstreamVersion
from apps.contrib.mirror.policy import evaluation
from apps.contrib.mirror.records import alarms, dates, platforms
from apps.jobs.pruning import prune_rows
from apps.lib import versions
from apps.lib.errors import Invalid

MAX_BYTES = 16 * 1024 * 1024
MAX_VERSIONS = 10_000
MAX_PLATFORMS = 64
MAX_WARNINGS, MAX_WARNING_CHARACTERS = 20, 500
NAMED = 20  # in an alarm
BATCH_SIZE = 500
UNKNOWN_FOR = timedelta(days=1)  # longer than any job waits

_OS = re.compile(r"[a-z0-9]{1,20}")
_ARCH = re.compile(r"[a-z0-9_.-]{1,20}")
_PROTOCOL = re.compile(r"\d{1,3}(\.\d{1,3})?")
_USUAL_SYSTEMS, _USUAL_PROCESSORS = {"linux", "darwin", "windows"}, {"amd64", "arm64"}

log = structlog.get_logger("larder.upstream")


@dataclass(frozen=True, slots=True)
class Listed:
    version: str
    sort_key: bytes
    protocols: list[str]
    platforms: list[list[str]]
    published_at: datetime | None


@dataclass(slots=True)
class Document:
    """`skipped`: versions that are not SemVer or equal another one except for build metadata, and all of a wrong shape.

    One odd entry takes no other from clients.
    """

    versions: dict[bytes, Listed] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    skipped: int = 0
    has_dates: bool = True  # as far as the registry states any; False: it could not be asked


def url_of(provider: UpstreamProvider, *rest: str) -> str:
    """Return a URL of the provider registry protocol. Raises FetchFailed."""
    base = registry_calls.discover(provider.upstream).rstrip("/")
    parts = (provider.namespace, provider.type, *rest)
    return "/".join([base, *(quote(part, safe="") for part in parts)])


def scope_of(provider: UpstreamProvider) -> str:
    """The scope of the generation that every change of what a mirror answers for this provider touches."""
    return generation.published_at(str(provider))


def is_fresh(provider: UpstreamProvider) -> bool:
    lasts = timedelta(seconds=provider.upstream.list_seconds)
    return provider.listed_at is not None and provider.listed_at > timezone.now() - lasts


def refresh(provider: UpstreamProvider, guard: Callable[[], None]) -> Collection[int]:
    """Ask the registry, and write what it says. Raises FetchFailed, and nothing has changed then.

    Return the verified versions that have a platform now for which their sums have no line.
    """
    url = url_of(provider, "versions")
    said = registry_calls.get_json(
        provider.upstream, url, max_bytes=MAX_BYTES, etag=provider.etag, last_modified=provider.last_modified
    )
    if said.is_unchanged and provider.listed_at is not None:
        with transaction.atomic():
            guard()
            UpstreamProvider.objects.filter(pk=provider.pk).update(listed_at=timezone.now())
        return ()
    found = parse(said.body, url=url)
    _add_dates(provider, found, url)
    with transaction.atomic():
        guard()
        locked = UpstreamProvider.objects.select_for_update(no_key=True, of=("self",)).get(pk=provider.pk)
        lacking = _write(locked, found, url)
        UpstreamProvider.objects.filter(pk=provider.pk).update(
            # Whole again the next time where dates are missing.
            etag=said.etag if found.has_dates and len(said.etag) <= 200 else "",  # noqa: PLR2004  # the column
            last_modified=said.last_modified[:100] if found.has_dates else "",
            warnings=found.warnings,
            skipped=found.skipped,
        )
    if found.skipped:
        log.warning("upstream_versions_skipped", provider=str(provider), entries=found.skipped)
    return lacking


def _add_dates(provider: UpstreamProvider, found: Document, url: str) -> None:
    """Ask for the dates of versions for which neither the list nor an earlier answer states one. What is old anyway, or
    has been known for longer than it can be held back, needs none.
    """
    young = timezone.now() - timedelta(days=evaluation.longest_days(provider.upstream))
    rows = provider.versions.filter(Q(was_in_first_list=True) | Q(first_seen_at__lt=young) | ~Q(published_at=None))
    settled = {bytes(key) for key in rows.values_list("sort_key", flat=True)}
    undated = {
        one.version: key for key, one in found.versions.items() if one.published_at is None and key not in settled
    }
    said = dates.asked(provider.upstream, url, dates.PROVIDERS, undated)
    found.has_dates = said is not None
    for key, at in (said or {}).items():
        found.versions[key] = replace(found.versions[key], published_at=at)


def prune_unknown() -> int:
    """Delete providers of which no list was ever read, and that were not tried lately; return how many.

    A client asked for them and no registry has them: anyone can make up names.
    """
    before = timezone.now() - UNKNOWN_FOR
    unknown = UpstreamProvider.objects.filter(listed_at=None, created_at__lt=before).exclude(tried_at__gte=before)
    pruned = prune_rows(unknown.order_by("created_at", "pk"))
    if pruned:
        log.info("upstream_providers_pruned", rows=pruned)
    return pruned


def parse(body: Any, *, url: str) -> Document:
    """Raises FetchFailed for a document of another shape, or with too many versions."""
    entries = body.get("versions") if isinstance(body, dict) else None
    if not isinstance(entries, list):
        raise _wrong(url, _kind(body if not isinstance(body, dict) else entries), "an object with a list `versions`")
    if len(entries) > MAX_VERSIONS:
        raise FetchFailed(
            "too_many_versions",
            f"The list has {len(entries):,} versions, expected at most {MAX_VERSIONS:,}",
            url=url,
            rule="max_versions",
            is_final=True,
        )
    if entries and not any(isinstance(one, dict) and isinstance(one.get("version"), str) for one in entries):
        raise _wrong(url, f"only {_kind(entries[0])}", "an object with a `version` for each version")
    found = Document(warnings=_warnings(body.get("warnings")))
    for entry in entries:
        listed, left_out = _listed(entry)
        if listed is None or listed.sort_key in found.versions:
            found.skipped += 1
        else:
            found.versions[listed.sort_key] = listed
            found.skipped += left_out
    return found


def _listed(entry: Any) -> tuple[Listed | None, int]:
    """Return None for a version that is not SemVer, which clients skip too, and how much of the entry is left out."""
    if not isinstance(entry, dict) or not isinstance(entry.get("version"), str):
        return None, 1
    protocols, targets = entry.get("protocols") or [], entry.get("platforms") or []
    try:
        version = versions.parse(entry["version"])
    except Invalid:
        return None, 1
    if not isinstance(protocols, list) or not isinstance(targets, list):
        return None, 1
    known = [one for one in protocols if isinstance(one, str) and _PROTOCOL.fullmatch(one)]
    pairs = sorted({(one["os"], one["arch"]) for one in targets if _is_platform(one)}, key=_by_use)
    left_out = sum(not isinstance(one, str) for one in protocols) + sum(not _is_platform(one) for one in targets)
    return (
        Listed(
            version.text,
            version.sort_key,
            known,
            sorted(map(list, pairs[:MAX_PLATFORMS])),
            dates.stated(entry),
        ),
        left_out + len(pairs[MAX_PLATFORMS:]),
    )


def _by_use(pair: tuple[str, str]) -> tuple[bool, bool, tuple[str, str]]:
    """Of too many platforms those stay that people have."""
    return pair[0] not in _USUAL_SYSTEMS, pair[1] not in _USUAL_PROCESSORS, pair


def _is_platform(one: Any) -> bool:
    if not isinstance(one, dict):
        return False
    os, arch = one.get("os"), one.get("arch")
    return isinstance(os, str) and isinstance(arch, str) and bool(_OS.fullmatch(os) and _ARCH.fullmatch(arch))


def _write(provider: UpstreamProvider, found: Document, url: str) -> list[int]:
    """Bring the rows in line, in the caller's transaction. What is no longer listed stays, and raises an alarm: staff
    decide whether clients keep it, if it is stored.

    Returns as `refresh`.
    """
    now = timezone.now()
    is_first = provider.first_listed_at is None
    highest = max(found.versions, default=b"")
    known = {bytes(row.sort_key): row for row in provider.versions.defer("sums", "signature")}
    new = [
        UpstreamVersion(
            provider=provider,
            version=one.version,
            sort_key=one.sort_key,
            protocols=one.protocols,
            platforms=one.platforms,
            first_seen_at=now,
            published_at=one.published_at,
            was_in_first_list=is_first and found.has_dates and key != highest,
        )
        for key, one in found.versions.items()
        if key not in known
    ]
    UpstreamVersion.objects.bulk_create(new, batch_size=BATCH_SIZE)
    changed = [row for key, row in known.items() if key in found.versions and _update(row, found.versions[key])]
    UpstreamVersion.objects.bulk_update(
        changed, ["version", "protocols", "platforms", "published_at", "is_listed", "absence"], batch_size=BATCH_SIZE
    )
    lacking = [row.pk for row in changed if row.verdict and not platforms.add_listed(row)]
    vanished = [row for key, row in known.items() if key not in found.versions and row.is_listed]
    if vanished:
        for some in _batches(vanished):
            UpstreamVersion.objects.filter(pk__in=[row.pk for row in some]).update(
                is_listed=False, absence=Absence.UNDECIDED
            )
        _raise_alarm(provider, vanished, known, found.versions, url)
    UpstreamProvider.objects.filter(pk=provider.pk).update(
        listed_at=now, first_listed_at=provider.first_listed_at or now
    )
    if new or changed or vanished or is_first:
        generation.touch([scope_of(provider)])
    return lacking


def _update(row: UpstreamVersion, listed: Listed) -> bool:
    """Return whether the row has changed. Of several dates that were stated the earliest stays."""
    before = (row.version, row.protocols, row.platforms, row.published_at, row.is_listed)
    # Only its build metadata can differ. Whoever has the record of one text keeps it.
    row.version = row.version if row.verdict else listed.version
    row.protocols, row.platforms, row.is_listed = listed.protocols, listed.platforms, True
    row.absence = Absence.UNDECIDED
    row.published_at = dates.earliest(row.published_at, listed.published_at)
    return before != (row.version, row.protocols, row.platforms, row.published_at, row.is_listed)


def _raise_alarm(
    provider: UpstreamProvider,
    vanished: list[UpstreamVersion],
    known: Mapping[bytes, UpstreamVersion],
    listed: Mapping[bytes, Listed],
    url: str,
) -> None:
    undecided = [row for key, row in known.items() if key not in listed and row.absence == Absence.UNDECIDED]
    newest = sorted({*undecided, *vanished}, key=lambda row: bytes(row.sort_key), reverse=True)
    before = sum(row.is_listed or row in vanished for row in known.values())
    alarms.raise_alarm(
        AlarmKind.LIST_SHRANK,
        upstream=provider.upstream,
        provider=provider,
        subject=str(provider),
        known={"listed": before, "vanished": [row.version for row in newest[:NAMED]], "more": len(newest[NAMED:])},
        found={"listed": len(listed), "vanished": [], "more": 0},
        url=url,
    )


def _batches(found: list[UpstreamVersion]) -> Iterable[list[UpstreamVersion]]:
    return (found[at : at + BATCH_SIZE] for at in range(0, len(found), BATCH_SIZE))


def _warnings(said: Any) -> list[str]:
    found = said if isinstance(said, list) else []
    return [one[:MAX_WARNING_CHARACTERS] for one in found[:MAX_WARNINGS] if isinstance(one, str)]


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")


def _wrong(url: str, found: str, expected: str) -> FetchFailed:
    message = f"The list of versions has another shape: found {found}, expected {expected}"
    return FetchFailed("bad_shape", message, url=url, rule="shape", is_final=True)
