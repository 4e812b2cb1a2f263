"""The built-in roles of staff. Every `migrate` gives them the permissions listed here.

Roles are Django groups. Only superusers assign them (`accounts.change`).
"""

from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.db.models import Q, QuerySet

OPERATOR, AUDITOR = ROLES = "Operator", "Auditor"

# Of Django's four permissions a table, only those to view and these have an effect; verbs do the rest.
ACTION_PERMISSIONS = {
    "accounts": (
        "operate_namespace",
        *("add_namespace", "change_namespace", "delete_namespace"),
        *("add_grant", "change_grant", "delete_grant"),
        *("add_team", "change_team", "delete_team"),
        *("add_membership", "change_membership", "delete_membership"),
        *("add_invitation", "change_invitation", "change_user", "revoke_apitoken"),
    ),
    "jobs": ("retry_job", "cancel_job"),
    "modules": ("reinspect_moduleversion",),
    "oci": ("delete_manifest", "delete_uploadsession"),
    "providers": ("resign_providerversion",),
    "releases": (
        *("deprecate_release", "yank_release", "quarantine_release", "restore_release", "purge_release"),
        *("verify_release", "rebuild_searchdoc"),
    ),
    "signing": ("change_signingkey", "rotate_statementkey"),
}
# Superusers add these by hand: the action cannot be undone.
IRREVERSIBLE = {"purge_release"}


def acts() -> dict[str, tuple[str, ...]]:
    """Return the codenames of ACTION_PERMISSIONS and of the doors of rooms, by app label."""
    doors = {config.label: getattr(config, "act_permissions", ()) for config in apps.get_app_configs()}
    return {**ACTION_PERMISSIONS, **{label: codenames for label, codenames in doors.items() if codenames}}


def permissions() -> QuerySet[Permission]:
    """Return the permissions that have an effect in the admin or at the gate."""
    labels = [config.label for config in apps.get_app_configs() if config.name.startswith("apps.")]
    having = Q()
    for label, codenames in acts().items():
        having |= Q(content_type__app_label=label, codename__in=codenames)
    return Permission.objects.filter(Q(content_type__app_label__in=labels, codename__startswith="view_") | having)


def permissions_of(role: str) -> QuerySet[Permission]:
    """Operators do what can be undone; Auditors read everything and change nothing."""
    rows = permissions()
    return rows.filter(codename__startswith="view_") if role == AUDITOR else rows.exclude(codename__in=IRREVERSIBLE)


def role_with(permission: str) -> str | None:
    """Return the least role that has the permission (`upstream.view_upstream`), None if superusers add it by hand."""
    codename = permission.partition(".")[2]
    if codename in IRREVERSIBLE:
        return None
    return AUDITOR if codename.startswith("view_") else OPERATOR


def name_of(permission: str) -> str:
    """Return the name that the admin shows of it: `Can purge a published version`."""
    app_label, _, codename = permission.partition(".")
    return Permission.objects.get(content_type__app_label=app_label, codename=codename).name


def bring_up_to_date() -> None:
    """Create the roles and give them the permissions of this version; called after every migration."""
    for role in ROLES:
        group, _ = Group.objects.get_or_create(name=role)
        wanted = set(permissions_of(role).values_list("pk", flat=True))
        if wanted != set(group.permissions.values_list("pk", flat=True)):
            group.permissions.set(wanted)
