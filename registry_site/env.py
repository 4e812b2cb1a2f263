"""Typed readers of environment variables: only this module uses os.environ.

A name such as `LARDER_LIMITS.json_max_bytes` is a key of a variable that has several: `LARDER_LIMITS=json_max_bytes=…`.
A reader that is told the `old` name of a setting reads that too. What was read is collected: tests compare it with
docs/configuration, and the start names what it does not know.
"""

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from difflib import get_close_matches
from email.utils import formataddr
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from apps.lib.errors import Invalid
from apps.lib.net.forwarding import TrustedProxies
from apps.lib.net.hostnames import normalised, on_the_wire
from apps.lib.settings_values import kek_urls, outgoing, smtp_urls, storage_urls
from apps.lib.settings_values.rates import DEFAULT_RATES, Rate

names_read, names_set = set[str](), os.environ.keys  # noqa: TID251
keys_read: dict[str, set[str]] = {}  # by the variable that has them
old_names: dict[str, str] = {}  # each with what replaces it, in words
LEAST_SECRET, LARGEST_NUMBER = 32, 10**15  # larger numbers make no sense, and dates overflow
LISTEN, TLS = "127.0.0.1:8443", "auto"  # defaults of settings.py and of the image's health check
NEEDED = {"http": "a host", "https": "a host", "s3": "a bucket", "gs": "a bucket", "azure": "a container"}
KEY = re.compile(r"([\w-]+)=")
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
CHECKOUT = Path(__file__).resolve().parent.parent


def use_settings() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "registry_site.settings")  # noqa: TID251


def text(name: str, default: str = "") -> str:
    return _given(name)[1] or default


def _given(name: str, old: str = "") -> tuple[str, str]:
    """Return what is set, in words, and its value: the old name counts while the new one is unset."""
    variable, _, key = name.partition(".")
    names_read.add(variable)
    value, said = os.environ.get(variable, "").strip(), variable  # noqa: TID251
    if key:
        keys_read.setdefault(variable, set()).add(key)
        value, said = _pairs(variable).get(key, ""), f"{key} of {variable}"
    return or_old(said, value, old) if old else (said, value)


def or_old(said: str, value: str, old: str) -> tuple[str, str]:
    old_names[old] = said
    before = os.environ.get(old, "").strip()  # noqa: TID251
    if before and value and _split(before) != _split(value):
        raise ImproperlyConfigured(f"{old} is the old name of {said}; both are set, and differ: remove the old one")
    return (old, before) if before else (said, value)


def _pairs(variable: str) -> dict[str, str]:
    """Return the values of the keys that a variable sets: `KEY=VALUE` words."""
    found: dict[str, str] = {}
    for word in words(variable):
        key, _, value = word.partition("=")
        if not (KEY.match(word) and value) or key in found:
            raise ImproperlyConfigured(f"{variable}: found {word!r}, expected key=value words, each key once")
        found[key] = value
    return found


def check_keys() -> None:
    """Refuse keys that nothing has read: call it when all settings are read."""
    for variable, known in keys_read.items():
        keys = {found[1] for word in words(variable) if (found := KEY.match(word))}
        for key in sorted(keys - known):
            near = " or ".join(get_close_matches(key, known, 1) or sorted(known))
            raise ImproperlyConfigured(f"{variable} has no key {key!r}: expected {near}")


def named_in_a_file(name: str) -> str:
    """A variable that a file of operators refers to: none of Larder's."""
    return os.environ.get(name, "").strip()  # noqa: TID251


@contextmanager
def stopping(name: str) -> Iterator[None]:
    """Stop the start with a sentence that names the variable."""
    try:
        yield
    except Invalid as error:
        raise ImproperlyConfigured(f"{name}: {str(error).removesuffix('.')}. {error.hint}".strip()) from None


def choice(name: str, *allowed: str) -> str:
    """Read a variable that must be one of a few words. The first is the default."""
    value = text(name, allowed[0])
    if value not in allowed:
        raise ImproperlyConfigured(f"{name}={value!r}: expected one of {', '.join(allowed)}")
    return value


def switch(name: str, *, default: bool = False) -> bool:
    return choice(name, *(("on", "off") if default else ("off", "on"))) == "on"


def number(name: str, default: int, *, least: int = 0, most: int = LARGEST_NUMBER, old: str = "") -> int:
    said, found = _given(name, old)
    try:
        value = int(found.replace("_", "")) if found else default
    except ValueError:
        raise ImproperlyConfigured(f"{said}={found!r}: expected a whole number") from None
    if not least <= value <= most:
        limits = f"at least {least}" if value < least and most == LARGEST_NUMBER else f"from {least} to {most}"
        raise ImproperlyConfigured(f"{said}={found or default!r}: expected a number {limits}")
    return value


def _key_of(variable: str, key: str, default: int, *, least: int = 0, most: int = LARGEST_NUMBER) -> int:
    """Read a number that was a variable of its own."""
    return number(f"{variable}.{key}", default, least=least, most=most, old=f"LARDER_{key.upper()}")


# Of lifetimes the last word of the key is the unit.
limit, lifetime = partial(_key_of, "LARDER_LIMITS"), partial(_key_of, "LARDER_LIFETIMES")


def traces() -> bool:
    """Return whether OpenTelemetry's variables ask for traces. Its packages, which may be missing, read the others."""
    collector = url("OTEL_EXPORTER_OTLP_ENDPOINT", "", "http", "https")
    is_off = text("OTEL_SDK_DISABLED").lower() == "true" or choice("OTEL_TRACES_EXPORTER", "otlp", "none") == "none"
    choice("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    samplers = ("always_on", "always_off", "traceidratio")
    choice("OTEL_TRACES_SAMPLER", *(f"parentbased_{sampler}" for sampler in samplers), *samplers)
    if not collector or is_off:
        return False
    if not (find_spec("opentelemetry") and find_spec("opentelemetry.sdk")):
        raise ImproperlyConfigured(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but the packages that send traces are not installed. "
            "Install them with: pip install --require-hashes -r requirements-extras.txt"
        )
    return True


def location(name: str) -> str:
    """Read a path such as `/stored`, without a slash at its end; empty by default."""
    value = text(name)
    if value and not re.fullmatch(r"(/[A-Za-z0-9_.-]+)+", value):
        raise ImproperlyConfigured(f"{name}={value!r}: expected the path of a location, such as /stored")
    return value


def _split(value: str) -> list[str]:
    return value.replace(",", " ").split()


def words(name: str, default: str = "") -> list[str]:
    """Read a list of words, separated by commas or spaces."""
    return _split(text(name, default))


def some_of(name: str, *allowed: str) -> list[str]:
    """Read a list of a few words; all of them by default."""
    found = words(name) or list(allowed)
    if unknown := [word for word in found if word not in allowed]:
        raise ImproperlyConfigured(f"{name}={unknown[0]!r}: expected some of {', '.join(allowed)}")
    return found


def hostnames(name: str, default: str) -> frozenset[str]:
    """Read host names, normalised as clients do it. An IPv6 address as the default counts as empty."""
    names_read.add(name)
    with stopping(name):
        return frozenset(normalised(word) for word in words(name, "" if ":" in default else default))


def trusted_proxies(name: str) -> TrustedProxies:
    with stopping(name):
        return TrustedProxies.parse(words(name))


def way_out(purpose: str, *, allow: str = "", ca_file: str = "", proxy: str = "") -> dict[str, Any]:
    """Read the fields of `outgoing.Outgoing`, of which each may have an old name for this purpose alone."""
    said, networks = _for_purpose("LARDER_OUTGOING_ALLOW", purpose, allow)
    with stopping(said):
        allowed = outgoing.networks_of(_split(networks))
    said, file = _for_purpose("LARDER_OUTGOING_CA_FILE", purpose, ca_file)
    with stopping(said):
        trusted = outgoing.certificates_in(file)
    said, address = _for_purpose("LARDER_OUTGOING_PROXY", purpose, proxy)
    return {"allow": allowed, "ca_file": trusted, "proxy": _checked_url(said, address, "http")}


def _for_purpose(name: str, purpose: str, old: str) -> tuple[str, str]:
    """Return what is set and its words for this purpose: those that begin with `purpose=`, otherwise those for all."""
    keys_read.setdefault(name, set()).add(purpose)
    given = words(name)
    own = [word.removeprefix(f"{purpose}=") for word in given if word.startswith(f"{purpose}=")]
    value = " ".join(own or [word for word in given if not KEY.match(word)])
    said, value = or_old(name, value, old) if old else (name, value)
    return said, "" if value == "off" else value


def sender(name: str, person: str, mailbox: str) -> str:
    """Read the sender of mails; by default `person <mailbox>`, quoted as mails need it."""
    return text(name, formataddr((person, mailbox)))


def smtp(name: str) -> dict[str, Any] | None:
    """Read smtp://user:password@host:587 (with STARTTLS) or smtps://…:465; None if it is unset."""
    with stopping(name):
        return smtp_urls.options_of(url(name, "", "smtp", "smtps"))


def token_lifetimes() -> tuple[timedelta, timedelta, timedelta]:
    """Read the defaults for tokens and for a person's token of scope manage, and the longest life of the latter."""
    most = lifetime("manage_token_max_days", 90, least=1, most=365)
    usual = lifetime("token_days", 90, least=1, most=365)
    managing = lifetime("manage_token_days", min(7, most), least=1, most=most)
    return timedelta(days=usual), timedelta(days=managing), timedelta(days=most)


def rates() -> dict[str, Rate | None]:
    """Read the limit of each group: `5/5m`, or None for `off`."""
    found = {}
    for group, default in DEFAULT_RATES.items():
        said, value = _given(f"LARDER_RATES.{group}", f"LARDER_RATE_{group.upper()}")
        with stopping(said):
            found[group] = Rate.parse(value or default)
    return found


def content_of(said: str, path: str) -> str:
    """Read the file; empty if none is named."""
    try:
        return Path(path).read_text() if path else ""
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{said}={path}: the file cannot be read: {error}") from None


def folder(name: str, default: Path) -> Path:
    found = text(name, str(default))
    try:
        return Path(found).expanduser().resolve()
    except (OSError, RuntimeError) as error:
        raise ImproperlyConfigured(f"{name}={found!r}: {error}") from None


def address(name: str, default: str) -> tuple[str, int]:
    """Read `host:port` (or only a port, for the loopback address)."""
    found = text(name, default)
    host, _, port = found.rpartition(":")
    if not port.isdigit() or not 0 < int(port) < 65536:  # noqa: PLR2004
        raise ImproperlyConfigured(f"{name}={found!r}: expected host:port, such as 127.0.0.1:8443")
    return host.strip("[]") or "127.0.0.1", int(port)


def reachable(host: str, port: int) -> str:
    """Return `host:port` for requests from this machine: a wildcard is no address."""
    host = WILDCARDS.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_public(host: str) -> bool:
    """Return whether a server that listens there is reached from other machines."""
    return host not in ("localhost", "::1") and not host.startswith("127.")


def url(name: str, default: str, *schemes: str) -> str:
    """Read a URL with one of the schemes, or return an empty default."""
    return _checked_url(name, text(name, default), *schemes)


def _checked_url(name: str, found: str, *schemes: str) -> str:
    if not found:
        return ""
    try:
        parts = urlsplit(found)
        _ = parts.port
    except ValueError:  # neither the value nor the error's text, which may contain a password
        raise ImproperlyConfigured(
            f"{name}: the host or port of this URL cannot be read. Percent-encode special characters in the user name "
            "and password, such as %2F for a slash, %23 for # and %40 for @."
        ) from None
    if parts.scheme not in schemes:
        expected = ", ".join(f"{scheme}:" for scheme in schemes)
        raise ImproperlyConfigured(f"{name} begins with {found.partition(':')[0][:20]!r}: expected one of {expected}")
    needed = NEEDED.get(parts.scheme)
    if needed and not parts.netloc:
        raise ImproperlyConfigured(f"{name}={found.rpartition('@')[2]!r}: expected {needed} after //")
    return found


def file_or_webhook(name: str) -> str:
    """Read file:///path/to/file or https://…; empty by default."""
    found = url(name, "", "file", "https", "http")
    parts = urlsplit(found)
    if parts.scheme == "file" and (parts.netloc or not parts.path.strip("/") or parts.path.endswith("/")):
        raise ImproperlyConfigured(f"{name}={found!r}: expected file:/// and the path of a file")
    return found


def storage_url(name: str, default: str) -> str:
    found = url(name, default, "file", "s3", "azure", "gs")
    with stopping(name):
        storage_urls.check(found)
    return found


def backups(storage: str) -> tuple[str, str, int]:
    """Read where `manage.py backup` writes without a folder, the file with its recipients' keys, how many stay."""
    if (found := storage_url("LARDER_BACKUP_URL", "")) == storage:
        raise ImproperlyConfigured("LARDER_BACKUP_URL is LARDER_STORAGE_URL: expected another bucket, prefix or folder")
    return found, text("LARDER_BACKUP_RECIPIENT_FILE"), number("LARDER_BACKUP_KEEP", 14, least=1, most=10_000)


def kek_addresses(name: str, kinds: Collection[type[kek_urls.KeyAddress]]) -> tuple[kek_urls.KekAddress, ...]:
    """Read where the key-encryption keys are; the file alone by default."""
    with stopping(name):
        return kek_urls.parse_all(words(name, kek_urls.FILE), kinds)


def azure_key(name: str, *addresses: str) -> str:
    """Read the key of the storage account from the file that the variable names, if an address needs one."""
    keys = secrets_in(name)
    if any(address.startswith("azure:") for address in addresses) and not keys:
        raise ImproperlyConfigured(f"{name} is not set: expected a file with the key of the Azure storage account")
    return keys[0] if keys else ""


def public_url(name: str, default: str) -> str:
    """Read Larder's own address; its host is returned in ASCII, as in requests."""
    found = url(name, default, "http", "https").rstrip("/")
    parts = urlsplit(found)
    with stopping(name):
        return found if found.isascii() else parts._replace(netloc=on_the_wire(parts.netloc)).geturl()


def secrets_from(name: str, default: Path) -> list[str]:
    """Read secrets, one a line, from the file that the variable names. Only the default file may be missing."""
    path = folder(name, default)
    is_named = path != default.resolve()
    said = f"{name}={path}" if is_named else str(path)
    try:
        found = [line for part in path.read_text().split("\n") if (line := part.strip())]
    except FileNotFoundError:
        if not is_named:
            return []
        raise ImproperlyConfigured(f"{said}: file not found") from None
    except OSError as error:
        raise ImproperlyConfigured(f"{said}: the file cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ImproperlyConfigured(f"{said}: expected text, found bytes that are not UTF-8") from None
    if not found:
        raise ImproperlyConfigured(f"{said}: the file is empty")
    if len(found) > 1 and any(len(secret) < LEAST_SECRET for secret in found):  # probably a long key that was wrapped
        raise ImproperlyConfigured(
            f"{said}: each line is a key, but one has fewer than {LEAST_SECRET} characters. Write each key on one line."
        )
    return found


def secrets_in(name: str) -> list[str]:
    """Read the secrets of the file that the variable names, one a line; none if it is unset."""
    if not text(name):
        return []
    found = secrets_from(name, Path())
    if any(len(secret) < LEAST_SECRET for secret in found):
        raise ImproperlyConfigured(
            f"{name}={text(name)}: a line has fewer than {LEAST_SECRET} characters. Create one: openssl rand -hex 32"
        )
    return found


def database(name: str, database_url: str) -> dict[str, Any]:
    """Return Django's database settings for sqlite:///path or postgres://user:password@host:port/name."""
    try:
        found: dict[str, Any] = {**dj_database_url.parse(database_url)}
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from None
    if found.get("NAME") in ("", ":memory:") and "service" not in found.get("OPTIONS", {}):
        raise ImproperlyConfigured(
            f"{name} names no database: expected sqlite:///path/to/file or postgres://user:password@host:port/name"
        )
    if found.get("HOST") and str(found["ENGINE"]).endswith("sqlite3"):
        raise ImproperlyConfigured(f"{name}: expected three slashes before the path, as in sqlite:///path/to/file")
    return found


def preset(**values: str) -> None:
    """Set unset variables, for the settings of the test run and its child processes."""
    for name, value in values.items():
        os.environ.setdefault(name, value)  # noqa: TID251
