"""Typed readers of the environment: the only module that touches os.environ.

Every reader notes its name in `names_read`, so that a test can hold docs/configuration.md against the code.
"""

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from apps.lib.errors import Invalid
from apps.lib.forwarding import TrustedProxies
from apps.lib.hostnames import normalised

names_read: set[str] = set()

CHECKOUT = Path(__file__).resolve().parent.parent


def use_settings() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "registry_site.settings")  # noqa: TID251


def text(name: str, default: str = "") -> str:
    names_read.add(name)
    return os.environ.get(name, "").strip() or default  # noqa: TID251


def choice(name: str, *allowed: str) -> str:
    """Read a variable that must be one of a few words. The first is the default."""
    value = text(name, allowed[0])
    if value not in allowed:
        raise ImproperlyConfigured(f"{name}={value!r}: expected one of {', '.join(allowed)}")
    return value


def switch(name: str, *, default: bool = False) -> bool:
    return choice(name, *(("on", "off") if default else ("off", "on"))) == "on"


def number(name: str, default: int, *, least: int = 0, most: int | None = None) -> int:
    found = text(name, str(default))
    try:
        value = int(found.replace("_", ""))
    except ValueError:
        raise ImproperlyConfigured(f"{name}={found!r}: expected a whole number") from None
    if value < least or (most is not None and value > most):
        limits = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ImproperlyConfigured(f"{name}={found!r}: expected a number {limits}")
    return value


def words(name: str, default: str = "") -> list[str]:
    """Read a list of words, separated by commas or spaces."""
    return text(name, default).replace(",", " ").split()


def hostnames(name: str, default: str) -> frozenset[str]:
    """Read host names, each normalised as clients do it. A default that is no host name (an IPv6 address) is none."""
    names_read.add(name)
    try:
        return frozenset(normalised(word) for word in words(name, "" if ":" in default else default))
    except Invalid as error:
        raise ImproperlyConfigured(f"{name}: {error}. {error.mend}".strip()) from None


def trusted_proxies(name: str) -> TrustedProxies:
    try:
        return TrustedProxies.parse(words(name))
    except Invalid as error:
        raise ImproperlyConfigured(f"{name}: {error}. {error.mend}".strip()) from None


def folder(name: str, default: Path) -> Path:
    return Path(text(name, str(default))).expanduser().resolve()


def address(name: str, default: str) -> tuple[str, int]:
    """Read `host:port` (or only a port, for the loopback address)."""
    found = text(name, default)
    host, _, port = found.rpartition(":")
    if not port.isdigit() or not 0 < int(port) < 65536:  # noqa: PLR2004
        raise ImproperlyConfigured(f"{name}={found!r}: expected host:port, such as 127.0.0.1:8443")
    return host.strip("[]") or "127.0.0.1", int(port)


def url(name: str, default: str, *schemes: str) -> str:
    """Read a URL with one of the schemes, or an empty default. Its reader checks what this scheme needs."""
    found = text(name, default)
    if not found:
        return ""
    try:
        parts = urlsplit(found)
        _ = parts.port
    except ValueError:
        # Neither the value nor the error's text: both may hold a password.
        raise ImproperlyConfigured(
            f"{name}: the host or port of this URL cannot be read. Percent-encode special characters in the user name "
            "and password, such as %2F for a slash, %23 for # and %40 for @."
        ) from None
    if parts.scheme not in schemes:
        expected = ", ".join(f"{scheme}:" for scheme in schemes)
        raise ImproperlyConfigured(f"{name} begins with {found.split(':')[0][:20]!r}: expected one of {expected}")
    if parts.scheme in ("http", "https") and not parts.hostname:
        raise ImproperlyConfigured(f"{name}={found!r}: expected a host, such as https://registry.example")
    return found


def secret_from(name: str, default: Path) -> str:
    """Read a secret from the file that the variable names; the default file may be missing (empty text then)."""
    path = folder(name, default)
    if path.is_file():
        return path.read_text().strip()
    if path != default.resolve():
        raise ImproperlyConfigured(f"{name}={path}: there is no such file")
    return ""


def database(database_url: str) -> dict[str, Any]:
    """Django's database dictionary of a URL: sqlite:///path, postgres://user:password@host:port/name."""
    return dict(dj_database_url.parse(database_url))


def preset(**values: str) -> None:
    """Set variables that are unset, for the test run's own settings and for the child processes it starts."""
    for name, value in values.items():
        os.environ.setdefault(name, value)  # noqa: TID251
