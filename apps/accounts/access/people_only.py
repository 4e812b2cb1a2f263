"""Acts that give power to people, or cannot be undone, need a person (D25): a verb with `@people_only` says so.

Some need a person who was asked a moment ago. The page does that; `refuse_token` keeps tokens out, which prove nothing.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind
from apps.lib.errors import RoleRequired

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def people_only(act: str) -> Callable[[Callable[Given, Answer]], Callable[Given, Answer]]:
    """Let the verb, which takes `actor`, raise RoleRequired for a service account, whatever the scope of its token.

    Its tokens from before this rule keep the rights that they had (`ApiToken.manages_people`). Put it above
    `transaction.atomic`: the audit row of the refusal must stay.
    """

    def decorated(verb: Callable[Given, Answer]) -> Callable[Given, Answer]:
        @wraps(verb)
        def for_people(*given: Given.args, **named: Given.kwargs) -> Answer:
            actor = named["actor"]
            assert isinstance(actor, Viewer)  # noqa: S101  # every verb takes it by name
            if is_machine(actor):
                team = named.get("team") or getattr(named.get("membership"), "team", None)
                owned = named.get("grant") or named.get("repository")
                namespace = named.get("namespace") or getattr(owned, "namespace", None)
                actor.record(
                    Kind.PERMISSION_REFUSED,
                    subject=f"team/{team}" if team else str(namespace or named.get("release") or ""),
                    needed=f"a person, to {act}",
                    held="service account",
                )
                raise RoleRequired(f"A service account cannot {act}.", hint="A person with the role can.")
            return verb(*given, **named)

        return for_people

    return decorated


def refuse_token(actor: Viewer, act: str, *, subject: str, hint: str) -> None:
    """Raise RoleRequired if the actor sent a token, which cannot confirm anything."""
    if actor.token is None:
        return
    actor.record(
        Kind.PERMISSION_REFUSED,
        subject=subject,
        needed=f"a confirmation by a person, to {act}",
        held=f"a token of scope {actor.token.scope}",
    )
    raise RoleRequired(f"A token cannot {act}: a person must confirm it.", hint=hint)


def is_machine(viewer: Viewer) -> bool:
    """Return whether this is a service account, except by a token that was made before they were limited."""
    is_service = viewer.user is not None and viewer.user.is_service
    return is_service and (viewer.token is None or not viewer.token.manages_people)
