"""Resources: what they depend on, their lifecycle, provisioners (`resource.go`, `depends_on.go`, `provisioner.go`)."""

from collections.abc import Iterable, Iterator

from apps.lib.hcl.bodies import Argument, Expression, Inner, Traversal
from apps.modules.inspection.language.clients import EVERY, ONLY_OPENTOFU, ONLY_TERRAFORM, since
from apps.modules.inspection.language.references import read_reference, subject_of
from apps.modules.inspection.language.rules.cases import Case, Problem, Visited
from apps.modules.inspection.language.rules.values import word_of

_EVENTS = ("before_create", "after_create", "before_update", "after_update", "before_destroy", "after_destroy")
_REFERENCE = "a reference such as aws_instance.web"
_ONLY_SELF = "only self, count.index and each.key, as it runs when the resource is destroyed"


def static_reference(expression: Expression) -> Traversal | None:
    """A traversal, also in quotes as before version 0.12 (`compat_shim.go`); () if that is not sure."""
    found = expression.traversal
    if found is not None or expression.is_json or expression.sort != "string":
        return found
    if isinstance(expression.value, str):
        return read_reference(expression.value)
    return () if expression.is_constant else None


def references(case: Case) -> Iterator[Problem]:
    elements = case.value.elements
    if elements is None:
        yield case.value, "a list of references", EVERY
    for element in elements or ():
        found = static_reference(element)
        if found is None:
            yield element, _REFERENCE, EVERY
        elif found[:1] == ("action",):
            yield element, "a reference to something else than an action", since(None, 14)


def no_references(case: Case) -> Iterator[Problem]:
    """`depends_on` in an override file."""
    if case.value.elements is None:
        yield case.value, "a list of references", EVERY
    elif len(case.value.elements):
        yield case.value, "no depends_on in an override file", EVERY


def ignored(case: Case) -> Iterator[Problem]:
    if word_of(case.value) == "all":
        return
    elements = case.value.elements
    if elements is None:
        yield case.value, "all, or a list of attributes", EVERY
    for element in elements or ():
        if element.value == "*":
            yield element, "all without a list, or names of attributes", EVERY
        elif static_reference(element) is None:
            yield element, "an attribute of this resource", EVERY


def replacing(case: Case) -> Iterator[Problem]:
    """`replace_triggered_by` (`resource.go`, decodeReplaceTriggeredBy)."""
    elements = case.value.elements
    if elements is None:
        yield case.value, "a list of references", EVERY
    for element in elements or ():
        yield from _one_resource(element)


def _one_resource(element: Expression) -> Iterator[Problem]:
    held = element.as_reference()
    variables = held.variables if held else None
    if variables is None:
        yield element, _REFERENCE, EVERY
        return
    resources = 0
    for found in variables:
        subject = subject_of(found)
        if found[0] == "action":
            yield element, "a reference to something else than an action", since(None, 14)
        if subject is not None and subject.kind in ("resource", "tofu"):
            resources += 1
            if subject.kind == "tofu":
                yield element, _REFERENCE, ONLY_OPENTOFU
        elif subject is None or (subject.kind, subject.names) not in (("count", ("index",)), ("each", ("key",))):
            yield element, f"{_REFERENCE}, with no other references than count.index and each.key", EVERY
            return
    if resources != 1:
        yield element, f"{_REFERENCE}, and one only", EVERY


def events(case: Case) -> Iterator[Problem]:
    elements = case.value.elements
    if not elements:
        yield case.value, f"a list of {', '.join(_EVENTS)}", EVERY
    seen: set[Traversal] = set()
    for element in elements or ():
        found = element.traversal or ()
        if len(found) != 1 or found[0] not in _EVENTS:
            yield element, f"one of {', '.join(_EVENTS)}", EVERY
        elif found in seen:
            yield element, "each event once", EVERY
        seen.add(found)


def actions(case: Case) -> Iterator[Problem]:
    """Terraform `action.go`, decodeActionTriggerRef."""
    elements = case.value.elements
    if not elements:
        yield case.value, "a list of actions", EVERY
    for element in elements or ():
        held = element.as_reference()
        variables = held.variables if held else ()
        if variables is not None and not any(found[0] == "action" for found in variables):
            yield element, "a reference such as action.aws_lambda_invoke.notify", EVERY


def destroying(visited: Visited) -> Iterator[Problem]:
    """A provisioner that runs at destruction, and its connection (`provisioner.go`, onlySelfRefs)."""
    when = visited.content.value("when")
    if when is None or word_of(when, quoted=True) != "destroy":
        return
    yield from _only_self(visited.content.arguments, but=("when", "on_failure"))
    yield from _connections(visited)


def connected(visited: Visited) -> Iterator[Problem]:
    """The connection of a resource, if a provisioner of it runs at destruction."""
    if any(inner.kind == "connection" for inner in visited.content.blocks) and any(
        _is_destroying(inner) for inner in visited.content.blocks if inner.kind == "provisioner"
    ):
        yield from _connections(visited)


def _is_destroying(provisioner: Inner) -> bool:
    when = provisioner.body.content({}, only_arguments=False).value("when")
    return when is not None and word_of(when, quoted=True) == "destroy"


def _connections(visited: Visited) -> Iterator[Problem]:
    for inner in visited.content.blocks:
        if inner.kind == "connection":
            yield from _only_self(inner.body.content({}, only_arguments=True).arguments)


def _only_self(arguments: Iterable[Argument], but: tuple[str, ...] = ()) -> Iterator[Problem]:
    for argument in arguments:
        if argument.name in but:
            continue
        for found in argument.expression.variables or ():
            if not _is_of_itself(found):
                yield argument.expression, _ONLY_SELF, ONLY_TERRAFORM if found[0] == "tofu" else EVERY
                break


def _is_of_itself(found: Traversal) -> bool:
    root = found[0]
    return root in ("self", "path", "terraform") or found in (("count", "index"), ("each", "key"))
