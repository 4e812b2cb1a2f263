"""`.terraform.lock.hcl`, byte for byte as clients write it.

What clients refuse in it is refused here too: a lock file in another form than theirs was edited by hand.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from apps.lib import versions
from apps.lib.errors import Invalid
from apps.lib.hcl.bodies import Argument, Expression, Inner
from apps.lib.hcl.files import NOT_LITERAL, File
from apps.lib.hcl.literals import written_string
from apps.lib.hcl.texts import arguments_of, invalid, parse
from apps.lib.mirrored import HostedProvider
from apps.lib.net import hostnames
from apps.lib.provider_constraints import Constraints

MAX_PROVIDERS = 1000  # in a text; requests have a lower limit
MAX_HASHES = 5000  # of one provider
MAX_CHARACTERS = 500  # of one hash

_TYPE = re.compile(r"[0-9a-z](?:-?[0-9a-z])*", re.ASCII)
# Terraform from 1.16 on takes underscores in namespaces, and in nothing else.
_NAMESPACE = re.compile(r"(?!.*--)[0-9a-z](?:[0-9a-z_-]*[0-9a-z])?", re.ASCII)
_MAX_PART = 63
_PARTS = 3
_HOST = re.compile(r"[0-9a-z.-]{1,255}(?::[0-9]{1,5})?", re.ASCII)
BUILT_IN: Final = {("terraform.io", "builtin"), ("opentofu.org", "builtin")}
_PREFIXES = ("terraform-", "opentofu-")
DEFAULT_NAMESPACE = "hashicorp"


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
    file, content = parse(text, what="lock file")
    for argument in content.arguments:
        raise invalid(file, argument.at, f"the attribute {argument.name[:40]}", "provider blocks")
    providers: dict[HostedProvider, LockedProvider] = {}
    for block in content.blocks:
        if block.kind == "module":
            continue  # clients warn of it and leave it out
        if block.kind != "provider" or len(block.labels) != 1:
            labels = f" with {len(block.labels)} labels" if block.kind == "provider" else ""
            raise invalid(file, block.at, f"the block {block.kind[:40]}{labels}", 'provider "host/namespace/type"')
        provider = _canonical(file, block)
        if provider in providers:
            raise invalid(file, block.at, f"the provider {written(provider)} a second time", "each provider once")
        providers[provider] = _locked(file, block)
    check_count(len(providers))
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
    namespace = parts[-2] if len(parts) > 1 else DEFAULT_NAMESPACE
    host = _host(text.partition("/")[0]) if len(parts) == _PARTS else default_host
    return HostedProvider(host, namespace, parts[-1])


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
    lines = [f"\nprovider {written_string(written(provider))} {{\n"]
    if constraints:
        lines += [
            f"  version     = {written_string(locked.version)}\n",
            f"  constraints = {written_string(constraints)}\n",
        ]
    else:
        lines.append(f"  version = {written_string(locked.version)}\n")
    if locked.hashes:
        hashes = sorted(locked.hashes, key=str.encode)
        lines += ["  hashes = [\n", *(f"    {written_string(one)},\n" for one in hashes), "  ]\n"]
    return "".join([*lines, "}\n"])


def _canonical(file: File, block: Inner) -> HostedProvider:
    label = block.labels[0] or ""
    expected = 'the address "host/namespace/type" in lower case'
    try:
        provider = parse_source(label, default_host="")
    except Invalid as error:
        raise invalid(file, block.at, f"the provider {label[:100]!r}", expected, str(error)) from None
    if (provider.host, provider.namespace) in BUILT_IN:
        raise invalid(file, block.at, f"the provider {label[:100]!r}, which is a part of the client", "other providers")
    if not provider.host or written(provider) != label:
        raise invalid(file, block.at, f"the provider {label[:100]!r}", expected)
    return provider


def _locked(file: File, block: Inner) -> LockedProvider:
    known = ("version", "constraints", "hashes")
    content = block.body.content({}, only_arguments=False)
    for inner in content.blocks:
        raise invalid(file, inner.at, f"the block {inner.kind[:40]}", f"the attributes {', '.join(known)}")
    arguments = arguments_of(file, content)
    for argument in arguments.values():
        if argument.name not in known:
            raise invalid(file, argument.at, f"the attribute {argument.name[:40]}", ", ".join(known))
    if "version" not in arguments:
        raise invalid(file, block.at, f"no version of {(block.labels[0] or '')[:100]}", 'version = "1.2.3"')
    text = _text(file, arguments["version"])
    try:
        version = versions.parse(text).text
    except Invalid as error:
        found = f"the version {text[:80]!r}"
        raise invalid(file, arguments["version"].at, found, "a version such as 1.2.3", error.hint) from None
    constraints = _constraints(file, arguments["constraints"]) if "constraints" in arguments else Constraints()
    return LockedProvider(version, constraints, _hashes(file, arguments.get("hashes")))


def _text(file: File, argument: Argument) -> str:
    value = argument.expression.value
    if not isinstance(value, str):
        raise invalid(file, argument.at, f"{argument.name} = {in_words(argument.expression)}", "a quoted text")
    return value


def _constraints(file: File, argument: Argument) -> Constraints:
    text = _text(file, argument)
    try:
        constraints = Constraints.parse(text)
    except Invalid as error:
        raise Invalid(f"Line {file.line(argument.at)}: {error}", hint=error.hint) from None
    if str(constraints) != text:
        found, normal = f"the constraints {text[:80]!r}", f"their normal form {str(constraints)[:200]!r}"
        raise invalid(file, argument.at, found, normal)
    return constraints


def _hashes(file: File, argument: Argument | None) -> frozenset[str]:
    if argument is None:
        return frozenset()
    elements = argument.expression.elements
    if not elements:
        raise invalid(file, argument.at, f"hashes = {in_words(argument.expression)}", "a list with at least one hash")
    if len(elements) > MAX_HASHES:
        raise invalid(file, argument.at, f"{len(elements):,} hashes", f"at most {MAX_HASHES:,}")
    found = set()
    for element in elements:
        text = element.value
        if not isinstance(text, str):
            raise invalid(file, element.at, f"{in_words(element)} in hashes", "quoted texts")
        # Of any scheme: a newer client may have written it.
        if text.find(":") < 1 or len(text) > MAX_CHARACTERS:
            raise invalid(file, element.at, f"the hash {text[:80]!r}", "a scheme, a colon and a value, such as h1:…")
        found.add(text)
    return frozenset(found)


def check_count(found: int) -> None:
    if found > MAX_PROVIDERS:
        raise Invalid(f"The text has {found:,} providers, expected at most {MAX_PROVIDERS:,}.")


def in_words(expression: Expression) -> str:
    is_whole = expression.value is not NOT_LITERAL or expression.sort == "number"
    if not expression.sort or not (is_whole or expression.elements or expression.pairs):
        return "an expression"
    if expression.value == []:
        return "an empty list"
    names = {"string": "a text", "number": "a number", "bool": "a truth value", "null": "null", "list": "a list"}
    return names.get(expression.sort, "an object")
