"""Root configurations: which versions they have installed, as their pipelines report it after `init`.

`.terraform/modules/modules.json` has the modules, `.terraform.lock.hcl` the providers. A report never says whether an
address exists: unknown and hidden ones are ignored alike.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from operator import or_
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.accounts.access.gate import Viewer, visible_namespaces
from apps.accounts.models import User
from apps.lib import versions
from apps.lib.addresses import canonical
from apps.lib.errors import Conflict, CredentialsRequired, Invalid
from apps.modules.dependents import sources
from apps.modules.dependents.users import BATCH_SIZE, LATEST, version_of
from apps.modules.models import Configuration, ConfigurationUse
from apps.releases.models import Kind, Release

# A report that says the same as one before it, within this time, is not written.
SAME_REPORT = timedelta(minutes=1)
MAX_CHARACTERS = 300
MAX_INSTALLED = 2_000
MAX_CONFIGURATIONS = 1_000
_PROVIDER = re.compile(r'provider "([^"]{1,300})" \{')
_SETTING = re.compile(r'(version|constraints)\s*=\s*"([^"]*)"')


@dataclass(frozen=True, slots=True)
class Installed:
    """`release` is a condition. Of a provider there is a constraint, and by what to find it again."""

    release: Q
    provider: tuple[str, str, bytes] | None = None
    constraint: str = ""


def report(*, actor: Viewer, repository: str, folder: str, modules: Any, lock: str) -> list[ConfigurationUse]:
    """Replace what this account reported of the configuration; return the versions that count. Raises Invalid.

    `modules` is the content of modules.json, None without one. No audit row: pipelines report as often as they run.
    Most reports repeat the last one: all reading is done before a lock on SQLite's file is asked for.
    """
    if actor.user is None:
        raise CredentialsRequired("This needs an API token.")
    repository, folder = _repository(repository), _folder(folder)
    wanted = [*_modules(modules), *_providers(lock)]
    if len(wanted) > MAX_INSTALLED:
        raise Invalid(
            f"found {len(wanted):,} modules and providers of this registry, expected at most {MAX_INSTALLED:,}",
            hint="Report its parts as separate configurations.",
        )
    found = list(_releases(actor, wanted))
    last = Configuration.objects.filter(reporter=actor.user, repository=repository, folder=folder).first()
    if last is None or not found:
        return _replace(actor.user, repository, folder, found) if found or last else []
    uses = list(last.uses.select_related("release__namespace"))
    if {use.release_id: use.constraint for use in uses} != {release.pk: text[:200] for release, text in found}:
        return _replace(actor.user, repository, folder, found)
    if last.reported_at < timezone.now() - SAME_REPORT:
        Configuration.objects.filter(pk=last.pk).update(reported_at=timezone.now())
    return uses


@transaction.atomic
def _replace(
    reporter: User, repository: str, folder: str, found: Sequence[tuple[Release, str]]
) -> list[ConfigurationUse]:
    own = Configuration.objects.filter(reporter=reporter)
    named = own.filter(repository=repository, folder=folder)
    kept = set(Release.objects.filter(pk__in=[release.pk for release, _ in found]).values_list("pk", flat=True))
    found = [(release, text) for release, text in found if release.pk in kept]
    if not found:
        named.delete()
        return []
    if own.exclude(pk__in=named.values("pk")).count() >= MAX_CONFIGURATIONS:
        raise Conflict(
            f"This account reports {MAX_CONFIGURATIONS:,} configurations already.",
            hint="Use another service account for the others.",
        )
    row, _ = Configuration.objects.update_or_create(
        reporter=reporter, repository=repository, folder=folder, defaults={"reported_at": timezone.now()}
    )
    row.uses.all().delete()
    uses = [ConfigurationUse(configuration=row, release=release, constraint=text[:200]) for release, text in found]
    return ConfigurationUse.objects.bulk_create(uses, batch_size=BATCH_SIZE)


def _repository(text: str) -> str:
    """Without what CI systems put into clone URLs: user, password, query."""
    text = _one_line("repository", text)
    if "://" in text:
        try:
            parts = urlsplit(text)
            text = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
        except ValueError:
            raise Invalid(f"repository: found {text[:80]!a}, expected a name or an address") from None
    if not text:
        raise Invalid("repository: found nothing, expected a name such as team/infrastructure")
    return text


def _folder(text: str) -> str:
    parts = [part for part in _one_line("folder", text).split("/") if part not in ("", ".")]
    if ".." in parts:
        raise Invalid(f"folder: found {text[:80]!a}, expected a path below the root of the repository")
    return "/".join(parts)


def _one_line(what: str, text: str) -> str:
    text = text.strip()
    if len(text) > MAX_CHARACTERS or not text.isprintable():
        raise Invalid(f"{what}: found {text[:80]!a}, expected one line of at most {MAX_CHARACTERS} characters")
    return text


def _modules(document: Any) -> Iterator[Installed]:
    if document is None:
        return
    entries = document.get("Modules") if isinstance(document, dict) else None
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise Invalid(
            "modules: found no list Modules, expected the content of modules.json",
            hint="Send .terraform/modules/modules.json after init.",
        )
    installed = {(str(one.get("Source") or ""), str(one.get("Version") or "")) for one in entries}
    for source, number in sorted(installed):
        target = sources.target_of(source)
        if target is None:
            continue
        same = Q(kind=Kind.MODULE, namespace__name=target.namespace, name=target.path_name)
        reference = sources.reference_of(source)
        if reference is not None:  # repositories are in lower case
            same = Q(
                kind=Kind.MODULE,
                namespace__canonical=canonical(target.namespace),
                name__iexact=target.path_name,
            )
        if reference is not None and reference.digest:
            yield Installed(same & Q(module_version__manifest_digest=reference.digest))
            continue
        with suppress(Invalid):  # modules.json does not say which version the tag latest was
            if reference is None:
                yield Installed(same & Q(sort_key=versions.sort_key(number)))
            elif reference.tag not in ("", LATEST):
                yield Installed(same & Q(sort_key=version_of(reference.tag).sort_key))


def _providers(lock: str) -> Iterator[Installed]:
    """Clients write the lock file line by line, whatever the configuration looks like."""
    found: dict[str, dict[str, str]] = {}
    said: dict[str, str] = {}
    for line in lock.splitlines():
        text = line.strip()
        if block := _PROVIDER.fullmatch(text):
            said = found.setdefault(block[1], {})
        elif (setting := _SETTING.fullmatch(text)) and found:
            said[setting[1]] = setting[2]
    if not found and any(line.strip() and not line.lstrip().startswith("#") for line in lock.splitlines()):
        raise Invalid(
            "lock: found no provider, expected the content of .terraform.lock.hcl", hint="Send the file after init."
        )
    for source, facts in found.items():
        target = sources.provider_of(source)
        if target is None:
            continue
        with suppress(Invalid):
            namespace, key = canonical(target.namespace), versions.sort_key(facts.get("version", ""))
            same = Q(kind=Kind.PROVIDER, namespace__canonical=namespace, name=target.type, sort_key=key)
            yield Installed(same, (namespace, target.type, key), facts.get("constraints", ""))


def _releases(viewer: Viewer, wanted: Sequence[Installed]) -> Iterator[tuple[Release, str]]:
    """The versions that the viewer sees, each once."""
    constraints = {one.provider: one.constraint for one in wanted}
    seen: dict[int, Release] = {}
    for start in range(0, len(wanted), BATCH_SIZE):
        named = reduce(or_, (one.release for one in wanted[start : start + BATCH_SIZE]))
        rows = Release.objects.published().filter(named, namespace__in=visible_namespaces(viewer))
        seen |= {row.pk: row for row in rows.select_related("namespace")}
    for row in seen.values():
        yield row, constraints.get((row.namespace.canonical, row.name, bytes(row.sort_key)), "")
