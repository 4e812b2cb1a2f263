"""Source addresses of modules: a folder, a registry's module, or what a client fetches.

Sources: `internal/addrs/module_source.go`, `internal/getmodules` (OpenTofu), `internal/getmodules/moduleaddrs`
(Terraform); for registries the package terraform-registry-address.
"""

import posixpath
import re

from apps.modules.inspection.language.addresses import MAX_CHARACTERS, is_host

_LOCAL = ("./", "../", ".\\", "..\\")
_NAME = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?")
_SYSTEM = re.compile(r"[0-9a-z]{1,64}")
_NO_REGISTRY_HOSTS = ("github.com", "bitbucket.org")
_FORCED = re.compile(r"[A-Za-z0-9]+::(.+)", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SSH = re.compile(r"git@[^:]+:/?.+")
_DETECTED = ("/", "github.com/", "bitbucket.org/")
_DETECTED_WITHIN = ("googleapis.com/", ".amazonaws.com/")


def expected_source(text: str, *, has_version: bool) -> str:
    """Return what is expected instead of this source, or nothing. `has_version`: then it must be a registry's
    module.
    """
    if len(text) > MAX_CHARACTERS or not text.isascii():
        return ""
    if has_version:
        is_registry = not text.startswith(_LOCAL) and _is_registry(text)
        return "" if is_registry else "an address of a module registry, since version is set"
    return "" if text.startswith(_LOCAL) or _is_registry(text) else _expected_package(text)


def _expected_package(text: str) -> str:
    """Of what a client fetches. Some that it detects by their host it reports as wrong, which is not judged."""
    package, folder = _split(text)
    if folder and posixpath.normpath(folder).startswith("../"):
        return "a folder inside of the package, behind //"
    if forced := _FORCED.fullmatch(package):
        package = forced[1]
    package, _ = _split(package)
    if package.startswith("github.com/") and package.count("/") < 2:  # noqa: PLR2004
        return "github.com/, an owner and a repository"
    is_address = _SCHEME.match(package) or _SSH.fullmatch(package)
    if is_address or package.startswith(_DETECTED) or any(part in package for part in _DETECTED_WITHIN):
        return ""
    path = f"; a folder begins with ./ (./{text})" if package.strip() else ""
    return f"a module's source address{path}"


def _split(text: str) -> tuple[str, str]:
    """The package, and the folder in it behind `//`."""
    before, mark, query = text.partition("?")
    scheme = before.find("://")
    at = before.find("//", scheme + 3 if scheme >= 0 else 0)
    return (text, "") if at < 0 else (before[:at] + mark + query, before[at + 2 :])


def _is_registry(text: str) -> bool:
    package, folder = _split(text)
    *host, namespace, name, system = parts if len(parts := package.split("/")) in (3, 4) else ("", "", "")
    if folder and posixpath.normpath(folder).startswith("../"):
        return False
    if not _NAME.fullmatch(namespace) or not _NAME.fullmatch(name) or not _SYSTEM.fullmatch(system):
        return False
    return not host or _is_registry_host(host[0])


def _is_registry_host(text: str) -> bool:
    return "." in text and text.lower() not in _NO_REGISTRY_HOSTS and is_host(text)
