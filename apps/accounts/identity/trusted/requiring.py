"""Namespaces in which only trusted publishers publish."""

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, TrustedPublisher
from apps.audit.kinds import Kind
from apps.lib.errors import RoleRequired

_HINT = "Publish from CI with a trusted publisher of the namespace, or ask an owner to change this setting."


def require_trusted(viewer: Viewer, namespace: Namespace) -> None:
    """Raise RoleRequired for everyone else, operators included, in a namespace that asks for it.

    By the row as it is now: the caller's may be from before the switch.
    """
    if refused := refusal_of(viewer, namespace):
        held = "a token" if viewer.token is not None else "a person"
        viewer.record(Kind.PERMISSION_REFUSED, subject=namespace.name, needed="a trusted publisher", held=held)
        raise refused


def refusal_of(viewer: Viewer, namespace: Namespace) -> RoleRequired | None:
    """Return why the viewer would be refused, of which nothing is recorded."""
    only = Namespace.objects.filter(pk=namespace.pk).values_list("trusted_publishers_only", flat=True).first()
    if not only or TrustedPublisher.objects.filter(user=viewer.user_id, namespace=namespace).exists():
        return None
    return RoleRequired(f"Only trusted publishers publish in {namespace}.", hint=_HINT)
