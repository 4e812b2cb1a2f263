"""System checks for dangerous combinations of settings, shown by `manage.py check --deploy`, and for misspelt ones."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004  # Django's own name
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, InterfaceError

from apps.lib.errors import Invalid
from apps.lib.net import addresses
from apps.lib.settings_values.storage_urls import AzureAddress, S3Address
from apps.portal.frame import branding
from apps.room import rooms
from apps.signing import fingerprints, vault
from registry_site import env
from registry_site.startup import variables

LONGEST_SITE_NAME = 40
NETWORK_FILE_SYSTEMS = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "ceph", "fuse.glusterfs")


@register()  # at each start as well
def variables_are_known(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:  # noqa: ARG001
    """Warn of a misspelt variable, which changes nothing and is easily overlooked, and of an old name."""
    found = {}
    for name, new in variables.old().items():
        found[name] = (f"{name} is an old name, which Larder still reads.", f"Set {new} instead.")
    for name, nearest in variables.unknown().items():
        hint = f"Did you mean {nearest}?" if nearest else "docs/configuration.md lists every variable."
        found[name] = (f"{name} is not a Larder variable and has no effect.", hint)
    for name, left_out in variables.of_left_out().items():
        hint = f"Remove it, or remove {left_out} from LARDER_WITHOUT."
        found[name] = (f"LARDER_WITHOUT leaves out {left_out}: {name} changes nothing.", hint)
    return [Warning(message, hint=hint, id="larder.W030") for message, hint in found.values()]


@register()
def site_is_presentable(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:  # noqa: ARG001
    """Refuse a name that does not fit into a title, and a logo that cannot be shown or that could act."""
    found: list[CheckMessage] = []
    if not settings.SITE_NAME.isprintable() or len(settings.SITE_NAME) > LONGEST_SITE_NAME:
        message = f"LARDER_SITE_NAME: expected one line of at most {LONGEST_SITE_NAME} characters."
        found.append(Error(message, hint="Choose a shorter name.", id="larder.E031"))
    try:
        branding.chosen_logo(settings.SITE_LOGO)
    except Invalid as error:
        message = f"LARDER_SITE_LOGO={settings.SITE_LOGO}: {str(error).removesuffix('.')}."
        found.append(Error(message, hint=error.hint or "Name an SVG or PNG file.", id="larder.E032"))
    return found


@register()
def demonstrations_are_kept(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:  # noqa: ARG001
    """Refuse to show a demonstration that everyone could change."""
    if settings.DEMO != "on" or any(room.demonstrates for room in rooms()):
        return []
    message = "LARDER_DEMO=on, but LARDER_WITHOUT leaves out the room that keeps visitors from changing anything."
    return [Error(message, hint="Take it out of LARDER_WITHOUT, or set LARDER_DEMO=off.", id="larder.E033")]


@register(Tags.security, deploy=True)
def one_place_for_all_hosts(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:  # noqa: ARG001
    """With several hosts no data may be on the disk of one of them."""
    if settings.INSTANCES == 1:
        return []
    local_to_one_host = {
        "E001": ("LARDER_DATABASE_URL", settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"), "postgres://…"),
        "E002": ("LARDER_STORAGE_URL", settings.STORAGE_URL.startswith("file:"), "s3://…, azure://… or gs://…"),
        "E003": ("LARDER_BROKER_URL", settings.BROKER_URL.startswith("filesystem:"), "redis://…"),
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
def heads_of_the_audit_have_an_address(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:  # noqa: ARG001
    try:
        if settings.AUDIT_HEAD_URL.startswith("http"):
            addresses.check_url(settings.AUDIT_HEAD_URL, settings.WEBHOOKS.allow)
    except Invalid as refusal:
        return [Error(f"LARDER_AUDIT_HEAD_URL: {refusal}", hint=refusal.hint, id="larder.E017")]
    return []


@register(Tags.security, deploy=True)
def nothing_is_left_open(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:  # noqa: ARG001
    found: list[CheckMessage] = []
    if settings.DEBUG:
        found.append(Error("LARDER_DEBUG is on: errors show settings.", hint="Unset it.", id="larder.E005"))
    if settings.PUBLIC_URL.startswith("http:"):
        found.append(
            Warning(
                "LARDER_PUBLIC_URL is plain http: tokens are sent unencrypted.",
                hint="Serve https, here or in a proxy in front.",
                id="larder.W001",
            )
        )
    if settings.BEHIND_PROXY and not settings.TRUSTED_PROXIES:
        found.append(
            Warning(
                "LARDER_BEHIND_PROXY is on without LARDER_TRUSTED_PROXIES: anyone can claim TLS, and sign-in limits "
                "count the proxy's address, so one stranger can lock everyone out.",
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
    key = _secret_key()
    if key is not None and (len(key) < env.LEAST_SECRET or key.startswith("django-insecure")):
        found.append(
            Error(
                f"The secret key has fewer than {env.LEAST_SECRET} characters, or is an example: anyone can forge "
                "sessions and links.",
                hint="Write another one to LARDER_SECRET_KEY_FILE: openssl rand -hex 32.",
                id="larder.E011",
            )
        )
    is_public = env.is_public(settings.LISTEN_HOST)
    if is_public and settings.TLS == "off" and not (settings.TRUSTED_PROXIES or settings.BEHIND_PROXY):
        found.append(
            Warning(
                "LARDER_TLS=off, but LARDER_LISTEN is reachable from other machines, and no proxy is named: passwords "
                "and tokens are sent unencrypted.",
                hint="Serve TLS; or name the proxy that does in LARDER_TRUSTED_PROXIES.",
                id="larder.W012",
            )
        )
    if settings.METRICS_LISTEN and env.is_public(settings.METRICS_LISTEN[0]) and not settings.METRICS_TOKENS:
        found.append(
            Warning(
                "LARDER_METRICS_LISTEN is open to other machines, but they cannot read it without a token.",
                hint="Set LARDER_METRICS_TOKEN_FILE.",
                id="larder.W013",
            )
        )
    if settings.CRASH_AT:
        found.append(Error("LARDER_CRASH_AT kills workers and is only for tests.", hint="Unset it.", id="larder.E006"))
    return found


def _secret_key() -> str | None:
    try:
        return str(settings.SECRET_KEY)
    except ImproperlyConfigured:
        return None  # the first start creates one


@register(Tags.security, deploy=True)
def sqlite_is_on_a_disk_of_this_host(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:  # noqa: ARG001
    """The locks of SQLite do not work over a network, and its WAL needs shared memory: the database is destroyed."""
    database = env.database("LARDER_DATABASE_URL", settings.DATABASE_URL)
    if not database["ENGINE"].endswith("sqlite3"):
        return []
    kind = file_system_of(Path(database["NAME"]).resolve())
    if kind not in NETWORK_FILE_SYSTEMS:
        return []
    return [
        Error(
            f"The SQLite database {database['NAME']} is on a network file system ({kind}), which can damage it.",
            hint="Put LARDER_DATA_DIR on a disk of this host, or use PostgreSQL: LARDER_DATABASE_URL=postgres://…",
            id="larder.E010",
        )
    ]


def file_system_of(path: Path) -> str:
    """Return the kind of file system, such as `ext4`; empty if this system does not tell."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return ""
    over = [(len(place), kind) for _, place, kind, *_ in mounts if path.is_relative_to(place.replace("\\040", " "))]
    # Of two on the same place the later one counts.
    return max(enumerate(over), key=lambda one: (one[1][0], one[0]))[1][1] if over else ""


@register(Tags.security, deploy=True)
def links_to_storage_lead_elsewhere(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:  # noqa: ARG001
    """Clients written in Go send their token on to the same host and to hosts below it."""
    # The others send no client anywhere.
    addresses: dict[str, type[S3Address | AzureAddress]] = {"s3": S3Address, "azure": AzureAddress}
    kind = addresses.get(urlsplit(settings.STORAGE_URL).scheme)
    if kind is None or not settings.STORAGE_REDIRECT_SECONDS:
        return []
    storage = urlsplit(kind.parse(settings.STORAGE_URL).clients_endpoint).hostname or ""
    host = urlsplit(settings.PUBLIC_URL).hostname or ""
    if not f".{storage}".endswith(f".{host}"):
        return []
    return [
        Warning(
            f"LARDER_STORAGE_REDIRECT_SECONDS sends clients to {storage}, and some of them send their token along: it "
            "is the host of LARDER_PUBLIC_URL or below it.",
            hint="Give the storage another host name, or unset LARDER_STORAGE_REDIRECT_SECONDS.",
            id="larder.W020",
        )
    ]


@register(Tags.security, deploy=True)
def keys_are_apart_from_what_they_protect(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:  # noqa: ARG001
    """A backup of one folder must not contain the private signing keys and the key that opens them."""
    database = env.database("LARDER_DATABASE_URL", settings.DATABASE_URL)
    if not database["ENGINE"].endswith("sqlite3"):
        return []
    folder = Path(database["NAME"]).resolve().parent
    if not (vault.uses_file() and settings.SIGNING_KEK_FILE.is_relative_to(folder)):
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
def only_signing_workers_open_private_keys(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:  # noqa: ARG001
    """Check that a process that reads hostile input cannot open private keys (D12)."""
    tokens = [Path(one.secret_file) for one in settings.SIGNING_KEKS if one and one.secret_file]
    readable = [file for file in [settings.SIGNING_KEK_FILE, *tokens] if os.access(file, os.R_OK)]
    if readable and not vault.is_for_this_host():
        return [
            Error(
                f"LARDER_WORKER_QUEUES excludes signing on this host, but its processes can read the "
                f"key-encryption key, or the token for it ({readable[0]}).",
                hint="Remove the file here, or let only the user of the signing workers read it.",
                id="larder.E009",
            )
        ]
    if settings.INSTANCES > 1 and vault.is_for_this_host() and len(settings.WORKER_QUEUES) > 1:
        return [
            Warning(
                "The workers that read uploads, and the web processes beside them, can open private signing keys.",
                hint="Run workers with LARDER_WORKER_QUEUES=sign, give only them the key-encryption key, and set "
                'LARDER_WORKER_QUEUES="check notify upstream" everywhere else.',
                id="larder.W011",
            )
        ]
    return []


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
