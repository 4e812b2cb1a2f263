"""Names of those who can give a role or a right, for pages, and for hints of refusals to people who are signed in."""

from collections.abc import Iterable
from functools import reduce
from operator import or_

from django.db.models import BigIntegerField, Q, QuerySet

from apps.accounts.models import Grant, Namespace, User
from apps.jobs.compiled_queries import CompiledQuery, Slot

OPERATE = "accounts.operate_namespace"
MAX_NAMED = 5
# Pages name the owners of one namespace, or of the first few.
_FEW = 3
_OWNERS_OF_FEW: CompiledQuery[Grant] = CompiledQuery(
    lambda: _owners_with_names(
        reduce(or_, (Q(namespace=Slot(f"place{number}", BigIntegerField())) for number in range(_FEW)))
    )
)


def named(names: Iterable[str]) -> str:
    """Return `alice, bob and 3 more`."""
    everyone = list(names)
    more = len(everyone) - MAX_NAMED
    return ", ".join(everyone[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def ask_operator(what: str = "") -> str:
    """Return a sentence such as `Ask an operator: olga.`; `what` to ask for is optional."""
    operators = User.objects.with_perm(OPERATE).filter(is_staff=True)
    return _ask("an operator", operators.values_list("username", flat=True), what)


def ask_superuser(what: str = "") -> str:
    superusers = User.objects.filter(is_superuser=True, is_active=True)
    return _ask("a superuser", superusers.values_list("username", flat=True), what)


def _ask(whom: str, names: Iterable[str], what: str) -> str:
    request = f"Ask {whom} for {what}" if what else f"Ask {whom}"
    some = named(sorted(names))
    return f"{request}: {some}." if some else f"{request}."


def owners_of(namespace: Namespace) -> list[str]:
    """Name who can act as owner today, people first: `dora`, `the team cooks`."""
    return owners_by_namespace([namespace]).get(namespace.pk, [])


def owners_by_namespace(namespaces: Iterable[Namespace]) -> dict[int, list[str]]:
    """Return the owners like `owners_of`, by number of the namespace, in one query."""
    numbers = [namespace.pk for namespace in namespaces]
    if not numbers:
        return {}
    if len(numbers) <= _FEW:
        places = {f"place{number}": (numbers[number] if number < len(numbers) else None) for number in range(_FEW)}
        grants: Iterable[Grant] = _OWNERS_OF_FEW(**places)
    else:
        grants = _owners_with_names(Q(namespace__in=numbers))
    found: dict[int, list[tuple[bool, str]]] = {}
    for grant in grants:
        name = grant.user.username if grant.user else f"the team {grant.team}"
        found.setdefault(grant.namespace_id, []).append((grant.user is None, name))
    return {number: [name for _, name in sorted(names)] for number, names in found.items()}


def _owners_with_names(where: Q) -> QuerySet[Grant]:
    return Grant.objects.active_owners().filter(where).select_related("user", "team")
