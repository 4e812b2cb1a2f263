"""Blocks about the state: `moved.go`, `removed.go`, `import.go`, with the addresses of `references.target_of`."""

from collections.abc import Iterator

from apps.lib.hcl.bodies import Inner, Traversal
from apps.modules.inspection.language.clients import EVERY, ONLY_OPENTOFU, ONLY_TERRAFORM
from apps.modules.inspection.language.references import Target, target_of
from apps.modules.inspection.language.rules.cases import Case, Problem, Visited

_RESOURCE = "the address of a resource such as aws_instance.web"


def _target(found: Traversal | None, *, is_removed: bool = False) -> Target | None:
    return target_of(found, is_removed=is_removed) if found and found[0] not in ("true", "false", "null") else None


def moved(case: Case) -> Iterator[Problem]:
    target = _target(case.value.traversal)
    if target is None or not target.kind:
        yield case.value, "the address of a resource or module, such as aws_instance.web or module.network", EVERY
        return
    yield case.value, "the address of a resource or module", target.refusing
    if target.mode == "ephemeral":
        yield case.value, "the address of a resource that is stored", ONLY_OPENTOFU
    other = _target(to.traversal) if case.argument.name == "from" and (to := case.beside("to")) else None
    if other and other.kind not in ("", target.kind):
        yield case.value, f"the address of a {other.kind}, as to is", EVERY


def removed(case: Case) -> Iterator[Problem]:
    target = _target(case.value.traversal, is_removed=True)
    if target is None or not target.kind or target.has_key or target.mode == "data":
        yield case.value, "the address of a resource or module, without keys", EVERY
        return
    yield case.value, "the address of a resource or module", target.refusing
    if target.mode == "ephemeral":
        yield case.value, "the address of a resource that is stored", ONLY_OPENTOFU


def no_module(visited: Visited) -> Iterator[Problem]:
    """Provisioners in a `removed` block belong to a resource."""
    origin = visited.content.value("from")
    if origin is None or not any(_at_destruction(inner) for inner in visited.content.blocks):
        return
    target = _target(origin.traversal)
    if target and target.kind == "module":
        yield origin, "the address of a resource, as the block has a provisioner", EVERY


def _at_destruction(inner: Inner) -> bool:
    return inner.kind == "provisioner"


def imported(case: Case) -> Iterator[Problem]:
    held = case.value.as_reference()
    target = _target(held.path) if held else None
    if target is None or target.kind != "resource":
        yield case.value, _RESOURCE, EVERY
        return
    yield case.value, _RESOURCE, target.refusing
    if target.mode != "managed":
        yield case.value, _RESOURCE, ONLY_TERRAFORM


def no_provider_in_module(visited: Visited) -> Iterator[Problem]:
    """The provider of a resource in a called module is that of the call."""
    provider, to = visited.content.value("provider"), visited.content.value("to")
    held = to.as_reference() if to is not None else None
    target = _target(held.path) if held else None
    if provider is not None and target and target.in_module:
        yield provider, "no provider, as the resource is in a called module", EVERY
