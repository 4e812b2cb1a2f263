"""The gate for what only staff do, whatever role somebody holds: quarantine and purge."""

from apps.accounts.access import Viewer, namespace_for
from apps.accounts.models import Namespace, Role
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import RoleRequired


def is_operator(viewer: Viewer) -> bool:
    """Whether the person is staff; what their token allows is for `operated_namespace` to say."""
    return viewer.user is not None and viewer.user.is_staff


def operated_namespace(viewer: Viewer, name: str, *, only_name: str = "") -> Namespace:
    """The namespace, for staff whose token (where they come with one) may manage it. Raises as `namespace_for` does."""
    staff = is_operator(viewer)
    try:
        namespace = namespace_for(viewer, name, need=Role.OWNER, only_name=only_name)
    except RoleRequired:  # recorded there
        if staff:
            raise  # it says what their token lacks
    else:
        if staff:
            return namespace
        record(
            Kind.PERMISSION_REFUSED,
            actor_id=viewer.user_id,
            token_id=viewer.token_id,
            subject=name[:300],
            needed="staff",
            held="owner",
        )
    raise RoleRequired("Only staff may do this: those who operate this registry.", mend="Ask one of them.")
