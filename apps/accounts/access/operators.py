"""The gate for actions of staff and their permissions: one rule for the API, the portal and the admin."""

from django.conf import settings

from apps.accounts.access import contacts, staff_roles
from apps.accounts.access.gate import Spelled, Viewer, grants_of, namespace_and_role, namespace_for, operates
from apps.accounts.models import Namespace, Role, Scope, User
from apps.audit.kinds import Kind
from apps.lib.errors import CredentialsRequired, RoleRequired


def creation_refused(actor: Viewer, what: str = "a namespace") -> str:
    """Return why the viewer may not create namespaces (or teams), empty if they may. A setting limits it to staff."""
    if actor.user is None:
        return f"Creating {what} needs credentials."
    if actor.user.is_service:
        return f"Service accounts cannot create {what.removeprefix('a ')}s."
    if not operates(actor):
        if actor.user.is_staff:
            return f"Creating {what} needs the staff role Operator, which you don't have."
        if settings.NAMESPACE_CREATION == "staff":
            return f"Only operators create {what.removeprefix('a ')}s here."
    token = actor.token
    if token is not None and token.scope != Scope.MANAGE:
        return f"Creating {what} needs a token with the scope manage; this one has only {token.scope}."
    has_limits = token is not None and (token.only_name or token.is_limited)
    return f"This token has limits, so it cannot create {what}." if has_limits else ""


def creator(actor: Viewer, what: str = "a namespace") -> User:
    """Return who creates one. Raises CredentialsRequired or RoleRequired, as `creation_refused` says."""
    refused = creation_refused(actor, what)
    if actor.user is None:
        raise CredentialsRequired(refused, hint="Sign in, or send an API token with the scope manage.")
    if refused:
        wider = "Use the page, or a token with the scope manage and no limits."
        raise RoleRequired(refused, hint=wider if actor.token else contacts.ask_operator())
    return actor.user


def is_operator(viewer: Viewer) -> bool:
    """Return whether the person is staff; `operated_namespace` checks what their token allows."""
    return viewer.user is not None and viewer.user.is_staff


def require_permission(viewer: Viewer, namespace: Namespace, permission: str, *, unless: Role | None = None) -> None:
    """Raise RoleRequired for staff without the permission (`releases.purge_release`) and without a grant of `unless`.

    Other people pass: their roles decide.
    """
    user = viewer.user
    if user is None or not user.is_staff or user.has_perm(permission):
        return
    if unless is not None and grants_of(user).filter(namespace=namespace, role__gte=unless).exists():
        return
    viewer.record(Kind.PERMISSION_REFUSED, subject=namespace.name, needed=permission, held="staff")
    raise _lacks(permission)


def require_everywhere(viewer: Viewer, permission: str) -> None:
    """Raise RoleRequired unless the viewer is staff with the permission and sent a token that may manage everything."""
    user, token = viewer.user, viewer.token
    if user is None or not user.is_staff:
        refusal = for_operators(viewer)
    elif not user.has_perm(permission):
        refusal = _lacks(permission)
    elif token is not None and (token.scope != Scope.MANAGE or token.is_limited):
        refusal = RoleRequired(
            "This needs a token that may manage every namespace.", hint="Create one on the tokens page."
        )
    else:
        return
    held = "staff" if is_operator(viewer) else "no staff"
    viewer.record(Kind.PERMISSION_REFUSED, subject="", needed=permission, held=held)
    raise refusal


def for_operators(viewer: Viewer, message: str = "Only operators can do this.") -> RoleRequired:
    """Return the refusal of what only operators can do. It names them to people who are signed in."""
    return RoleRequired(message, hint=contacts.ask_operator() if viewer.is_identified else "Sign in as an operator.")


def _lacks(permission: str) -> RoleRequired:
    """Return the refusal for staff: it names the role and the permission in words, never the permission's code."""
    role, name = staff_roles.role_with(permission), staff_roles.name_of(permission)
    if role is None:
        message = f'This needs the permission "{name}", which no role includes.'
    else:
        message = f'This needs the staff role {role}, or the permission "{name}".'
    return RoleRequired(message, hint=contacts.ask_superuser("it"))


def namespace_for_act(
    viewer: Viewer, name: str, *, need: Role, permission: str, only_name: str = "", spelled: Spelled = str
) -> Namespace:
    """Return the namespace for people with the role and staff with the permission. Raises like `namespace_for`."""
    if is_operator(viewer):
        return _namespace_and_role(viewer, name, need, permission, only_name=only_name, spelled=spelled, unless=need)[0]
    return namespace_for(viewer, name, need=need, only_name=only_name, spelled=spelled)


def operated_namespace(
    viewer: Viewer, name: str, *, permission: str, only_name: str = "", spelled: Spelled = str
) -> Namespace:
    return operated_namespace_and_role(viewer, name, permission=permission, only_name=only_name, spelled=spelled)[0]


def operated_namespace_and_role(
    viewer: Viewer, name: str, *, permission: str, only_name: str = "", spelled: Spelled = str
) -> tuple[Namespace, Role]:
    """Return the namespace for staff with the permission and, if they use a token, one that may manage it; and their
    role without that permission.

    Raises like `namespace_for`.
    """
    if is_operator(viewer):
        return _namespace_and_role(viewer, name, Role.OWNER, permission, only_name=only_name, spelled=spelled)
    try:
        namespace_for(viewer, name, need=Role.OWNER, only_name=only_name, spelled=spelled)
    except RoleRequired:
        pass  # recorded there
    else:
        viewer.record(Kind.PERMISSION_REFUSED, subject=name[:300], needed="staff", held="owner")
    raise for_operators(viewer)


def _namespace_and_role(
    viewer: Viewer,
    name: str,
    need: Role,
    permission: str,
    *,
    only_name: str,
    spelled: Spelled,
    unless: Role | None = None,
) -> tuple[Namespace, Role]:
    namespace, role = namespace_and_role(viewer, name, only_name=only_name, spelled=spelled)
    require_permission(viewer, namespace, permission, unless=unless)
    if not role.covers(need):  # by the permission alone, if their token allows it
        namespace_for(viewer, name, need=need, only_name=only_name, permission=permission, spelled=spelled)
    return namespace, role
