"""System checks for dangerous combinations of settings, shown by `manage.py check --deploy`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004  # Django's own name
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, InterfaceError

from apps.signing import fingerprints
from registry_site import env


@register(Tags.security, deploy=True)
def one_place_for_all_hosts(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:  # noqa: ARG001
    """With several hosts no data may be on the disk of one of them."""
    if settings.INSTANCES == 1:
        return []
    local_to_one_host = {
        "E001": ("LARDER_DATABASE_URL", settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"), "postgres://…"),
        "E002": ("LARDER_STORAGE_URL", settings.STORAGE_URL.startswith("file:"), "s3://…"),
        "E003": ("LARDER_BROKER_URL", settings.BROKER_URL.startswith("filesystem:"), "redis://…"),
        "E004": ("LARDER_CACHE_URL", not settings.CACHE_URL, "redis://…"),
    }
    return [
        Error(
            f"LARDER_INSTANCES={settings.INSTANCES}, but {name} stores its data on one host.",
            hint=f"Set {name} to {wanted}.",
            id=f"larder.{number}",
        )
        for number, (name, is_local, wanted) in local_to_one_host.items()
        if is_local
    ]


@register(Tags.security, deploy=True)
def nothing_is_left_open(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:  # noqa: ARG001
    found: list[CheckMessage] = []
    if settings.DEBUG:
        found.append(Error("LARDER_DEBUG is on: errors show settings.", hint="Leave it unset.", id="larder.E005"))
    if settings.PUBLIC_URL.startswith("http:"):
        found.append(
            Warning(
                "LARDER_PUBLIC_URL is plain http: tokens travel in the clear.",
                hint="Serve https, here or in a proxy in front.",
                id="larder.W001",
            )
        )
    if settings.BEHIND_PROXY and not settings.TRUSTED_PROXIES:
        found.append(
            Warning(
                "LARDER_BEHIND_PROXY is on without LARDER_TRUSTED_PROXIES: anyone can claim TLS, and sign-in limits "
                "count the proxy's address, so one stranger locks everyone out.",
                hint="Set LARDER_TRUSTED_PROXIES to the addresses of your proxies; then remove LARDER_BEHIND_PROXY.",
                id="larder.W002",
            )
        )
    if settings.TRUSTED_PROXIES.trusts_everybody:
        found.append(
            Warning(
                "LARDER_TRUSTED_PROXIES trusts every address: anyone can choose the address that limits count.",
                hint="Name only the addresses or networks of your proxies.",
                id="larder.W003",
            )
        )
    if settings.CRASH_AT:
        found.append(Error("LARDER_CRASH_AT kills workers; it is for tests.", hint="Unset it.", id="larder.E006"))
    return found


@register(Tags.security, deploy=True)
def keys_are_apart_from_what_they_protect(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:  # noqa: ARG001
    """A backup of one folder must not contain the private signing keys and the key that opens them."""
    database = env.database("LARDER_DATABASE_URL", settings.DATABASE_URL)
    if not database["ENGINE"].endswith("sqlite3"):
        return []
    folder = Path(database["NAME"]).resolve().parent
    if not settings.SIGNING_KEK_FILE.is_relative_to(folder):
        return []
    return [
        Warning(
            f"The key-encryption key ({settings.SIGNING_KEK_FILE}) is in the folder of the database whose signing keys "
            "it opens: anyone with a copy of that folder can sign for every namespace.",
            hint="Stop Larder, move the file elsewhere (a new one could not open the keys), set "
            "LARDER_SIGNING_KEK_FILE to its path, and back it up apart from the database.",
            id="larder.W010",
        )
    ]


@register(Tags.security, deploy=True)
def hosts_share_their_keys(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:  # noqa: ARG001
    """Compare keys with those of other hosts, recorded in the database; skip if it is away."""
    found: list[CheckMessage] = []
    try:
        if problem := fingerprints.secret_key_problem(record=False):
            found.append(Error(problem, id="larder.E007"))
        if problem := fingerprints.sealed_elsewhere():
            found.append(Error(problem, id="larder.E008"))
    except (DatabaseError, InterfaceError, ImproperlyConfigured):
        pass
    return found
