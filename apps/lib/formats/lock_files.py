"""`.terraform.lock.hcl`, byte for byte as clients write it, and `required_providers` blocks.

What clients refuse in these texts is refused here too: a lock file in another form than theirs was edited by hand.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from apps.lib import versions
from apps.lib.errors import Invalid, NotFound
from apps.lib.formats import plain_hcl
from apps.lib.formats.plain_hcl import Block, Body, Expression, Number, Value, invalid, quoted
from apps.lib.mirrored import HostedProvider
from apps.lib.net import hostnames
from apps.lib.provider_constraints import Constraints

MAX_PROVIDERS = 1000  # in a text; requests have a lower limit
MAX_HASHES = 5000  # of one provider
MAX_CHARACTERS = 500  # of one hash

_LOCK, _REQUIRED = "lock file", "required_providers block"
_TYPE = re.compile(r"[0-9a-z](?:-?[0-9a-z])*", re.ASCII)
# Terraform from 1.16 on takes underscores in namespaces, and in nothing else.
_NAMESPACE = re.compile(r"(?!.*--)[0-9a-z](?:[0-9a-z_-]*[0-9a-z])?", re.ASCII)
_MAX_PART = 63
_PARTS = 3
_HOST = re.compile(r"[0-9a-z.-]{1,255}(?::[0-9]{1,5})?", re.ASCII)
_BUILT_IN: Final = {("terraform.io", "builtin"), ("opentofu.org", "builtin")}
_PREFIXES = ("terraform-", "opentofu-")
_DEFAULT_NAMESPACE = "hashicorp"
_DIGEST = re.compile(rb"[0-9A-Fa-f]{64}")
_NOT_A_VERSION = "0.0.0"


class Client(StrEnum):
    TOFU = "tofu"
    TERRAFORM = "terraform"

    @property
    def default_host(self) -> str:
        """The registry of addresses without a host."""
        return "registry.opentofu.org" if self is Client.TOFU else "registry.terraform.io"


@dataclass(frozen=True, slots=True)
class LockedProvider:
    version: str
    constraints: Constraints = field(default_factory=Constraints)
    hashes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LockFile:
    client: Client = Client.TOFU
    providers: Mapping[HostedProvider, LockedProvider] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [
            f'# This file is maintained automatically by "{self.client} init".\n',
            "# Manual edits may be lost in future updates.\n",
        ]
        ordered = sorted(self.providers.items(), key=lambda pair: (pair[0].host, pair[0].namespace, pair[0].type))
        return "".join([*parts, *(_block(provider, locked) for provider, locked in ordered)])


def written(provider: HostedProvider) -> str:
    """The address as texts name it: `xn--bcher-kva.example` is `bücher.example` there."""
    return f"{hostnames.as_written(provider.host)}/{provider.namespace}/{provider.type}"


def parse_lock(text: str) -> LockFile:
    """Raises Invalid with the line, what was found and what is expected."""
    body = plain_hcl.parse(text, what=_LOCK)
    for attribute in body.attributes.values():
        raise invalid(attribute.line, f"the attribute {attribute.name[:40]}", "provider blocks")
    providers: dict[HostedProvider, LockedProvider] = {}
    for block in body.blocks:
        if block.kind == "module":
            continue  # clients warn of it and leave it out
        if block.kind != "provider" or len(block.labels) != 1:
            labels = f" with {len(block.labels)} labels" if block.kind == "provider" else ""
            raise invalid(block.line, f"the block {block.kind[:40]}{labels}", 'provider "host/namespace/type"')
        provider = _canonical(block)
        if provider in providers:
            raise invalid(block.line, f"the provider {written(provider)} a second time", "each provider once")
        providers[provider] = _locked(block)
    _check_count(len(providers))
    return LockFile(client_of(text) or Client.TOFU, providers)


def client_of(text: str) -> Client | None:
    """By the comment that clients put at the top."""
    for line in text.removeprefix("\ufeff").lstrip().splitlines()[:20]:
        if not line.startswith("#"):
            break
        for client in Client:
            if f'"{client} init"' in line:
                return client
    return None


def parse_required(text: str, *, default_host: str) -> dict[HostedProvider, Constraints]:
    """Read terraform blocks, required_providers blocks, or what is inside of one. Raises Invalid."""
    body = plain_hcl.parse(text, what=_REQUIRED)
    entries = _entries_of(body)
    required: dict[HostedProvider, Constraints] = {}
    for block_body in entries:
        for attribute in block_body.attributes.values():
            provider, constraints = _requirement(attribute.name, attribute.value, attribute.line, default_host)
            if (provider.host, provider.namespace) in _BUILT_IN:
                continue  # a part of the client
            required[provider] = required.get(provider, Constraints()).and_(constraints)
    if not required:
        raise Invalid(
            "The text requires no provider.",
            hint='Send entries such as random = { source = "hashicorp/random", version = "~> 3.0" }.',
        )
    _check_count(len(required))
    return required


def parse_source(text: str, *, default_host: str) -> HostedProvider:
    """`[host/][namespace/]type`, normalised as clients do. Raises Invalid."""
    parts = text.lower().split("/")
    if len(parts) > _PARTS or "" in parts:
        raise Invalid(
            f"Found the provider source {text[:100]!r}, expected [host/][namespace/]type.",
            hint="Write it such as hashicorp/random.",
        )
    for part, names in zip(reversed(parts), (_TYPE, _NAMESPACE), strict=False):
        if not names.fullmatch(part) or len(part) > _MAX_PART:
            raise Invalid(
                f"Found {part[:80]!r} in the provider source {text[:100]!r}, expected letters, digits and dashes."
            )
    for prefix in _PREFIXES:
        if parts[-1].startswith(prefix):
            raise Invalid(
                f"The provider source {text[:100]!r} has a type with the prefix {prefix!r}, which clients refuse.",
                hint=f"Leave {prefix!r} out.",
            )
    namespace = parts[-2] if len(parts) > 1 else _DEFAULT_NAMESPACE
    host = _host(text.partition("/")[0]) if len(parts) == _PARTS else default_host
    return HostedProvider(host, namespace, parts[-1])


def choose(offered: Iterable[str], constraints: Constraints, *, locked: str, provider: HostedProvider) -> str:
    """The version that `providers lock` selects: the locked one, otherwise the highest. Raises Invalid or NotFound."""
    if locked and not constraints.allows(versions.parse(locked)):
        raise Invalid(
            f"{written(provider)} is locked to {locked}, which the constraints {str(constraints)!r} exclude.",
            hint="Run init -upgrade, or remove the provider from the lock file.",
        )
    if _NOT_A_VERSION in (locked, str(constraints)):
        raise Invalid(f"{written(provider)}: {_NOT_A_VERSION} is not a version that clients install.")
    if locked:
        if locked in offered:
            return locked
        raise NotFound(f"Version {locked} of {written(provider)}, which is locked, is not available.")
    found = constraints.highest(offered)
    if found is None:
        which = f"that meets {str(constraints)!r}" if constraints.terms else "that is a release"
        raise NotFound(f"There is no version of {written(provider)} {which}.")
    return found


def zip_hashes(sums: bytes) -> list[str]:
    """The `zh:` of every line of SHA256SUMS, as clients record them: none if one line has another shape."""
    found = []
    for line in sums.split(b"\n"):
        fields = line.split()
        if not fields:
            continue
        if len(fields) < 2 or not _DIGEST.fullmatch(fields[0]):  # noqa: PLR2004 - digest and name
            return []
        found.append(f"zh:{fields[0].decode().lower()}")
    return found


def followed(locks: LockFile) -> LockFile:
    """The locks with which `tofu providers lock` begins: of HashiCorp's providers in Terraform's registry it takes the
    versions over for those of the same names in its own, without their hashes.
    """
    if locks.client is not Client.TOFU:
        return locks
    more = {
        HostedProvider(Client.TOFU.default_host, provider.namespace, provider.type): replace(one, hashes=frozenset())
        for provider, one in locks.providers.items()
        if (provider.host, provider.namespace) == (Client.TERRAFORM.default_host, _DEFAULT_NAMESPACE)
    }
    return replace(locks, providers={**more, **locks.providers})


def _host(text: str) -> str:
    if text.lower().startswith("xn--") or ".xn--" in text.lower():
        raise Invalid(f"Found the host {text[:80]!r}, expected it in its own letters, not encoded.")
    host = hostnames.on_the_wire(text).removesuffix(":443")
    if not _HOST.fullmatch(host) or host.startswith(".") or ".." in host:
        raise Invalid(f"{text[:80]!r} is not a host name, expected letters, digits, dashes and dots.")
    return host


# --- Lock files -------------------------------------------------------------------------------------------------------


def _block(provider: HostedProvider, locked: LockedProvider) -> str:
    constraints = str(locked.constraints)
    lines = [f"\nprovider {quoted(written(provider))} {{\n"]
    if constraints:
        lines += [f"  version     = {quoted(locked.version)}\n", f"  constraints = {quoted(constraints)}\n"]
    else:
        lines.append(f"  version = {quoted(locked.version)}\n")
    if locked.hashes:
        hashes = sorted(locked.hashes, key=str.encode)
        lines += ["  hashes = [\n", *(f"    {quoted(one)},\n" for one in hashes), "  ]\n"]
    return "".join([*lines, "}\n"])


def _canonical(block: Block) -> HostedProvider:
    label = block.labels[0]
    expected = 'the address "host/namespace/type" in lower case'
    try:
        provider = parse_source(label, default_host="")
    except Invalid as error:
        raise invalid(block.line, f"the provider {label[:100]!r}", expected, str(error)) from None
    if (provider.host, provider.namespace) in _BUILT_IN:
        raise invalid(block.line, f"the provider {label[:100]!r}, which is a part of the client", "other providers")
    if not provider.host or written(provider) != label:
        raise invalid(block.line, f"the provider {label[:100]!r}", expected)
    return provider


def _locked(block: Block) -> LockedProvider:
    known = ("version", "constraints", "hashes")
    for inner in block.body.blocks:
        raise invalid(inner.line, f"the block {inner.kind[:40]}", f"the attributes {', '.join(known)}")
    for attribute in block.body.attributes.values():
        if attribute.name not in known:
            raise invalid(attribute.line, f"the attribute {attribute.name[:40]}", ", ".join(known))
    if "version" not in block.body.attributes:
        raise invalid(block.line, f"no version of {block.labels[0][:100]}", 'version = "1.2.3"')
    constraints, line = _text(block.body, "constraints")
    return LockedProvider(_version(block.body), _constraints(constraints, line), _hashes(block.body))


def _text(body: Body, name: str) -> tuple[str, int]:
    attribute = body.attributes.get(name)
    if attribute is None:
        return "", 0
    if not isinstance(attribute.value, str):
        raise invalid(attribute.line, f"{name} = {_kind(attribute.value)}", "a quoted text")
    return attribute.value, attribute.line


def _version(body: Body) -> str:
    text, line = _text(body, "version")
    try:
        return versions.parse(text).text
    except Invalid as error:
        raise invalid(line, f"the version {text[:80]!r}", "a version such as 1.2.3", error.hint) from None


def _constraints(text: str, line: int) -> Constraints:
    try:
        constraints = Constraints.parse(text)
    except Invalid as error:
        raise Invalid(f"Line {line}: {error}", hint=error.hint) from None
    if str(constraints) != text:
        raise invalid(line, f"the constraints {text[:80]!r}", f"their normal form {str(constraints)[:200]!r}")
    return constraints


def _hashes(body: Body) -> frozenset[str]:
    attribute = body.attributes.get("hashes")
    if attribute is None:
        return frozenset()
    if not isinstance(attribute.value, list) or not attribute.value:
        raise invalid(attribute.line, f"hashes = {_kind(attribute.value)}", "a list with at least one hash")
    if len(attribute.value) > MAX_HASHES:
        raise invalid(attribute.line, f"{len(attribute.value):,} hashes", f"at most {MAX_HASHES:,}")
    found = set()
    for one in attribute.value:
        if not isinstance(one, str):
            raise invalid(attribute.line, f"{_kind(one)} in hashes", "quoted texts")
        # Of any scheme: a newer client may have written it.
        if one.find(":") < 1 or len(one) > MAX_CHARACTERS:
            raise invalid(attribute.line, f"the hash {one[:80]!r}", "a scheme, a colon and a value, such as h1:…")
        found.add(one)
    return frozenset(found)


def _check_count(found: int) -> None:
    if found > MAX_PROVIDERS:
        raise Invalid(f"The text has {found:,} providers, expected at most {MAX_PROVIDERS:,}.")


# --- Requirements -----------------------------------------------------------------------------------------------------


def _entries_of(body: Body) -> list[Body]:
    """The bodies of all required_providers blocks; the text itself if it is what is inside of one."""
    found = [body] if body.attributes else []
    for block in body.blocks:
        if block.kind == "required_providers" and not block.labels:
            found.append(block.body)
        elif block.kind == "terraform" and not block.labels:
            found += [inner.body for inner in block.body.blocks if inner.kind == "required_providers"]
        else:
            raise invalid(
                block.line,
                f"the block {block.kind[:40]}",
                "terraform or required_providers",
                "Send only the terraform block: what other blocks require, such as resources, is not read.",
            )
    for one in found:
        for block in one.blocks if one is not body else ():
            raise invalid(block.line, f"the block {block.kind[:40]}", "entries such as random = { … }")
    return found


def _requirement(name: str, value: Value, line: int, default_host: str) -> tuple[HostedProvider, Constraints]:
    try:
        if value is None or isinstance(value, (str, Number)):  # as before Terraform 0.13
            text = value.text if isinstance(value, Number) else value
            return _implied(name, default_host), _required_version(text)
        if not isinstance(value, dict):
            raise Invalid(f"{name} = {_kind(value)}, expected an object with source and version.")
        for key in value:
            if key not in ("source", "version", "configuration_aliases"):
                raise Invalid(f"{name} has {key[:40]!r}, expected source, version and configuration_aliases.")
        for key in ("source", "version"):
            if not isinstance(value.get(key, ""), str):
                raise Invalid(f"{key} of {name} is {_kind(value[key])}, expected a quoted text.")
        source, version = value.get("source"), value.get("version")
        provider = parse_source(source, default_host=default_host) if isinstance(source, str) else None
        return provider or _implied(name, default_host), _required_version(
            version if isinstance(version, str) else None
        )
    except Invalid as error:
        raise Invalid(f"Line {line}: {str(error)[:1].lower()}{str(error)[1:]}", hint=error.hint) from None


def _implied(name: str, default_host: str) -> HostedProvider:
    if name == "terraform":
        return HostedProvider("terraform.io", "builtin", name)
    return parse_source(name, default_host=default_host)


def _required_version(text: str | None) -> Constraints:
    if text is not None and not text.strip():
        raise Invalid("The version constraint is empty.", hint="Leave version out to allow every release.")
    return Constraints.parse(text or "")


def _kind(value: Value) -> str:
    if isinstance(value, Expression):
        return "an expression"
    if value is None:
        return "null"
    names = {str: "a text", bool: "a truth value", Number: "a number", list: "a list", dict: "an object"}
    if value == []:
        return "an empty list"
    return next(name for kind, name in names.items() if isinstance(value, kind))
