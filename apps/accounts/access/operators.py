"""The gate for what only staff do, whatever role somebody holds, and for their permissions: one rule for the API, the
portal and the admin.
"""

from apps.accounts.access.gate import Viewer, grants_of, namespace_for
from apps.accounts.models import Namespace, Role
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import RoleRequired


def is_operator(viewer: Viewer) -> bool:
    """Whether the person is staff; what their token allows is for `operated_namespace` to say."""
    return viewer.user is not None and viewer.user.is_staff


def require_permission(viewer: Viewer, namespace: Namespace, permission: str, *, unless: Role | None = None) -> None:
    """Staff need the permission (`releases.purge_release`), unless they hold the role in the namespace as others do.

    Who is no staff is for the roles to judge. Raises RoleRequired.
    """
    user = viewer.user
    if user is None or not user.is_staff or user.has_perm(permission):
        return
    if unless is not None and grants_of(user).filter(namespace=namespace, role__gte=unless).exists():
        return
    record(
        Kind.PERMISSION_REFUSED,
        actor_id=viewer.user_id,
        token_id=viewer.token_id,
        subject=namespace.name,
        needed=permission,
        held="staff",
    )
    raise RoleRequired(
        f"This needs the permission {permission}: being staff is not enough.", hint="Ask a superuser for it."
    )


def namespace_for_act(viewer: Viewer, name: str, *, need: Role, permission: str, only_name: str = "") -> Namespace:
    """The namespace, for those who have the role, and for staff who have the permission. Raises as `namespace_for`."""
    if is_operator(viewer):
        require_permission(viewer, namespace_for(viewer, name, only_name=only_name), permission, unless=need)
    return namespace_for(viewer, name, need=need, only_name=only_name, permission=permission)


def operated_namespace(viewer: Viewer, name: str, *, permission: str, only_name: str = "") -> Namespace:
    """The namespace, for staff who have the permission, and whose token (where they come with one) may manage it.

    Raises as `namespace_for` does.
    """
    if is_operator(viewer):
        require_permission(viewer, namespace_for(viewer, name, only_name=only_name), permission)
        return namespace_for(viewer, name, need=Role.OWNER, only_name=only_name, permission=permission)
    try:
        namespace_for(viewer, name, need=Role.OWNER, only_name=only_name)
    except RoleRequired:
        pass  # recorded there
    else:
        record(
            Kind.PERMISSION_REFUSED,
            actor_id=viewer.user_id,
            token_id=viewer.token_id,
            subject=name[:300],
            needed="staff",
            held="owner",
        )
    raise RoleRequired("Only staff may do this: those who operate this registry.", hint="Ask one of them.")
