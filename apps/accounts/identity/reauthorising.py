"""Ask the gate again: an upload takes minutes, and its sender may lose the right meanwhile (D8)."""

from collections.abc import Callable, Iterable, Iterator

from apps.accounts.access.gate import Viewer, namespace_for, role_on
from apps.accounts.identity import sessions, tokens
from apps.accounts.identity.trusted.requiring import require_trusted
from apps.accounts.models import Namespace, Role, User
from apps.audit.kinds import Kind
from apps.lib.errors import CredentialsRequired, NotFound, RegistryError, RoleRequired

REFUSALS = (CredentialsRequired, RoleRequired, NotFound)


def authorise_again(viewer: Viewer, namespace: Namespace, *, only_name: str) -> None:
    """Check that the viewer may still publish `only_name`, with account, token and session as they are now.

    Raises what the gate raises, and CredentialsRequired if one of the three has ended.
    """
    try:
        current = _as_of_now(viewer)
    except CredentialsRequired:
        viewer.record(Kind.PERMISSION_REFUSED, subject=namespace.name, needed=Role.PUBLISHER.label.lower(), held="")
        raise
    namespace_for(current, namespace.name, need=Role.PUBLISHER, only_name=only_name)


def refusal(viewer: Viewer, namespace: Namespace, *, only_name: str) -> RegistryError | None:
    """Return what `authorise_again` raises, so that the transaction commits the audit row of the refusal; or that by
    now only trusted publishers publish.
    """
    try:
        authorise_again(viewer, namespace, only_name=only_name)
        require_trusted(viewer, namespace)
    except REFUSALS as refused:
        return refused
    return None


def is_allowed(viewer: Viewer, namespace: Namespace, *, only_name: str) -> bool:
    """Check like `refusal`, without an audit row: for housekeeping, which is not an attempt by anyone."""
    try:
        role = role_on(_as_of_now(viewer), namespace, only_name=only_name)
    except CredentialsRequired:
        return False
    return role is not None and role.covers(Role.PUBLISHER)


def authorised_to_the_end(chunks: Iterable[bytes], authorise: Callable[[], None]) -> Iterator[bytes]:
    """Pass on a body, and authorise after its last byte, before the reader sees its end."""
    yield from chunks
    authorise()


def _as_of_now(viewer: Viewer) -> Viewer:
    if viewer.token is not None:
        token = tokens.token_with_id(viewer.token.pk)
        if token is None:
            raise tokens.TokenRefused(
                "This API token was revoked or has expired.", hint="Create another on the tokens page."
            )
        return Viewer(token.user, token)
    user = User.objects.filter(pk=viewer.user.pk, is_active=True).first() if viewer.user else None
    if user is None:
        raise CredentialsRequired("This account was deactivated.", hint="Ask an operator.")
    if viewer.session and not sessions.is_signed_in(viewer.session, user):
        raise CredentialsRequired("The session that started this upload has ended.", hint="Sign in and upload again.")
    return Viewer(user, session=viewer.session)
