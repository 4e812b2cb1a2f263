"""Scopes as clients ask for them: `repository:<name>:pull,push`, several in one parameter or in several."""

from collections.abc import Iterable

from apps.artifacts import names

_ACTIONS = ("pull", "push", "delete")


def understood(asked: Iterable[str]) -> str:
    """Return the known scopes, normalised. Granting fewer rights than asked is no error."""
    found: dict[str, set[str]] = {}
    for scope in " ".join(asked).split():
        kind, _, rest = scope.partition(":")
        name, _, actions = rest.rpartition(":")
        wanted = set(_ACTIONS if actions == "*" else actions.split(",")).intersection(_ACTIONS)
        if kind == "repository" and wanted and names.is_name(name):
            found.setdefault(name, set()).update(wanted)
    return " ".join(
        f"repository:{name}:{','.join(action for action in _ACTIONS if action in wanted)}"
        for name, wanted in found.items()
    )
