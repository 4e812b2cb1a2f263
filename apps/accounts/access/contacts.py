"""Names of those who can give what a refusal says is missing, for its hint. Only for people who are signed in."""

from collections.abc import Iterable

from apps.accounts.models import User

OPERATE = "accounts.operate_namespace"
MAX_NAMED = 5


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
