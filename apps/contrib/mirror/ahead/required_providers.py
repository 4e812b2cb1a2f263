"""`required_providers` blocks, as clients read them."""

from apps.lib.errors import Invalid
from apps.lib.formats.lock_files import BUILT_IN, check_count, in_words, parse_source
from apps.lib.hcl.bodies import Content, Expression, name_of
from apps.lib.hcl.files import NOT_LITERAL, File
from apps.lib.hcl.texts import arguments_of, invalid, parse
from apps.lib.mirrored import HostedProvider
from apps.lib.provider_constraints import Constraints


def parse_required(text: str, *, default_host: str) -> dict[HostedProvider, Constraints]:
    """Read terraform blocks, required_providers blocks, or what is inside of one. Raises Invalid."""
    file, content = parse(text, what="required_providers block")
    required: dict[HostedProvider, Constraints] = {}
    for entries in _entries_of(file, content):
        for argument in arguments_of(file, entries).values():
            try:
                provider, constraints = _requirement(argument.name, argument.expression, default_host)
            except Invalid as error:
                text = f"{str(error)[:1].lower()}{str(error)[1:]}"
                raise Invalid(f"Line {file.line(argument.at)}: {text}", hint=error.hint) from None
            if (provider.host, provider.namespace) in BUILT_IN:
                continue  # a part of the client
            required[provider] = required.get(provider, Constraints()).and_(constraints)
    if not required:
        raise Invalid(
            "The text requires no provider.",
            hint='Send entries such as random = { source = "hashicorp/random", version = "~> 3.0" }.',
        )
    check_count(len(required))
    return required


def _entries_of(file: File, content: Content) -> list[Content]:
    """The contents of all required_providers blocks; the text itself if it is what is inside of one."""
    found = [content] if content.arguments else []
    for block in content.blocks:
        inside = block.body.content({}, only_arguments=False)
        if block.kind == "required_providers" and not block.labels:
            found.append(inside)
        elif block.kind == "terraform" and not block.labels:
            inner = [one.body for one in inside.blocks if one.kind == "required_providers"]
            found += [body.content({}, only_arguments=False) for body in inner]
        else:
            raise invalid(
                file,
                block.at,
                f"the block {block.kind[:40]}",
                "terraform or required_providers",
                "Send only the terraform block: Larder does not read requirements in other blocks, such as resources.",
            )
    for one in found:
        for block in one.blocks if one is not content else ():
            raise invalid(file, block.at, f"the block {block.kind[:40]}", "entries such as random = { … }")
    return found


def _requirement(name: str, expression: Expression, default_host: str) -> tuple[HostedProvider, Constraints]:
    if expression.sort in ("string", "number", "null") and expression.value is not NOT_LITERAL:  # before Terraform 0.13
        text = expression.source if expression.sort == "number" else expression.value
        return _implied(name, default_host), _required_version(text)
    if expression.pairs is None:
        raise Invalid(f"{name} = {in_words(expression)}, expected an object with source and version.")
    texts: dict[str, str] = {}
    for key, value in expression.pairs:
        entry = name_of(key) or key.source
        if entry not in ("source", "version", "configuration_aliases"):
            raise Invalid(f"{name} has {entry[:40]!r}, expected source, version and configuration_aliases.")
        if entry in texts:
            raise Invalid(f"{name} has {entry} a second time, expected each key once.")
        if entry != "configuration_aliases" and not isinstance(value.value, str):
            raise Invalid(f"{entry} of {name} is {in_words(value)}, expected a quoted text.")
        texts[entry] = value.value
    provider = parse_source(texts["source"], default_host=default_host) if "source" in texts else None
    return provider or _implied(name, default_host), _required_version(texts.get("version"))


def _implied(name: str, default_host: str) -> HostedProvider:
    if name == "terraform":
        return HostedProvider("terraform.io", "builtin", name)
    return parse_source(name, default_host=default_host)


def _required_version(text: str | None) -> Constraints:
    if text is not None and not text.strip():
        raise Invalid("The version constraint is empty.", hint="Leave version out to allow every release.")
    return Constraints.parse(text or "")
