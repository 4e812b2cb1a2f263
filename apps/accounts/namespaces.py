"""Namespaces and the roles in them: created, changed, given, withdrawn. The edges ask the gate first."""

from django.conf import settings
from django.db import IntegrityError, transaction

from apps.accounts.access import Viewer, visible_namespaces
from apps.accounts.models import Grant, Namespace, Role, Scope, User, Visibility
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.addresses import canonical, check_namespace
from apps.lib.errors import Conflict, CredentialsRequired, Invalid, RoleRequired


def creation_refused(actor: Viewer) -> str:
    """Why the viewer may not create namespaces; empty when they may. Any person, or only staff, by a setting."""
    if actor.user is None:
        return "Creating a namespace needs credentials."
    if settings.NAMESPACE_CREATION == "staff" and not actor.user.is_staff:
        return "Only staff create namespaces here (LARDER_NAMESPACE_CREATION)."
    if actor.token is None:
        return ""
    if actor.token.scope != Scope.MANAGE:
        return f"Creating a namespace needs a token with the scope manage; this one has only {actor.token.scope}."
    if actor.token.only_name or actor.token.is_limited:
        return "This token is limited to what exists, so it cannot create a namespace."
    return ""


def create(*, name: str, visibility: str, actor: Viewer, description: str = "") -> Namespace:
    """Create a namespace; its creator becomes the owner. Raises Invalid, Conflict, CredentialsRequired or
    RoleRequired.
    """
    if actor.user is None:
        raise CredentialsRequired(creation_refused(actor), mend="Sign in, or send an API token with the scope manage.")
    if refused := creation_refused(actor):
        raise RoleRequired(refused, mend="Use the page, or a token with the scope manage and no limits; or ask staff.")
    check_namespace(name, reserved=settings.RESERVED_NAMES)
    _check(visibility, description)
    try:
        return _create(name, visibility, description, actor.user, actor)
    except IntegrityError:
        raise _taken(name, actor) from None


@transaction.atomic
def _create(name: str, visibility: str, description: str, owner: User, actor: Viewer) -> Namespace:
    # No look before the leap: of two who come at once, the unique constraints let one win.
    namespace = Namespace.objects.create(
        name=name, canonical=canonical(name), visibility=visibility, description=description, created_by=owner
    )
    Grant.objects.create(namespace=namespace, user=owner, role=Role.OWNER, given_by=owner)
    record(
        Kind.NAMESPACE_CREATED,
        actor_id=actor.user_id,
        token_id=actor.token_id,
        subject=name,
        visibility=visibility,
        owner=owner.pk,
    )
    return namespace


def _taken(name: str, actor: Viewer) -> Conflict:
    existing = visible_namespaces(actor).filter(canonical=canonical(name)).first()
    if existing is None:
        return Conflict(f"The name {name} is taken.", mend="Choose another, or ask staff whose it is.")
    if existing.name == name:
        return Conflict(f"The namespace {name} exists already.", mend="Open it, or choose another name.")
    return Conflict(f"{name} is too close to {existing.name}, which exists.", mend="Choose a name that differs more.")


@transaction.atomic
def change(
    *, namespace: Namespace, actor: Viewer, visibility: str | None = None, description: str | None = None
) -> None:
    """Change what is given; None leaves it. Raises Invalid."""
    row = Namespace.objects.select_for_update().get(pk=namespace.pk)
    wanted = {"visibility": visibility, "description": description}
    changes = {
        field: (getattr(row, field), value)
        for field, value in wanted.items()
        if value is not None and value != getattr(row, field)
    }
    _check(visibility or row.visibility, description or "")
    if not changes:
        return
    new = {field: after for field, (_, after) in changes.items()}
    Namespace.objects.filter(pk=row.pk).update(**new)
    for field, value in new.items():
        setattr(namespace, field, value)
    record(
        Kind.NAMESPACE_CHANGED,
        actor_id=actor.user_id,
        token_id=actor.token_id,
        subject=row.name,
        changes={field: list(pair) for field, pair in changes.items()},
    )


@transaction.atomic
def grant(*, namespace: Namespace, user: User, role: Role, actor: Viewer) -> Grant:
    """Give a person the role, in place of the one they have. Raises Conflict when no owner would be left."""
    Namespace.objects.select_for_update().get(pk=namespace.pk)  # two owners who demote each other take turns
    existing = Grant.objects.filter(namespace=namespace, user=user).first()
    if existing and existing.role == role:
        return existing
    if existing and existing.role == Role.OWNER:
        _keep_an_owner(existing)
    given, _ = Grant.objects.update_or_create(
        namespace=namespace, user=user, defaults={"role": role, "given_by": actor.user}
    )
    record(
        Kind.GRANT_GIVEN,
        actor_id=actor.user_id,
        token_id=actor.token_id,
        subject=namespace.name,
        user=user.pk,
        role=Role(role).label.lower(),
        before=Role(existing.role).label.lower() if existing else "",
    )
    return given


@transaction.atomic
def withdraw(*, grant: Grant, actor: Viewer) -> None:
    """Take a role away; doing it twice is fine. Raises Conflict when no owner would be left."""
    Namespace.objects.select_for_update().get(pk=grant.namespace_id)
    existing = Grant.objects.select_related("namespace").filter(pk=grant.pk).first()
    if existing is None:
        return
    if existing.role == Role.OWNER:
        _keep_an_owner(existing)
    existing.delete()
    record(
        Kind.GRANT_WITHDRAWN,
        actor_id=actor.user_id,
        token_id=actor.token_id,
        subject=existing.namespace.name,
        user=existing.user_id,
        role=Role(existing.role).label.lower(),
    )


def _keep_an_owner(leaving: Grant) -> None:
    others = Grant.objects.filter(namespace=leaving.namespace_id, role=Role.OWNER, user__is_active=True)
    if not others.exclude(pk=leaving.pk).exists():
        raise Conflict(
            "A namespace keeps at least one owner, and this is the last one.", mend="Make somebody else owner first."
        )


def _check(visibility: str, description: str) -> None:
    if visibility not in Visibility.values:
        raise Invalid(f"There is no visibility {visibility!r}.", mend=f"Use one of {', '.join(Visibility.values)}.")
    if len(description) > 200:  # noqa: PLR2004  # the column's width
        raise Invalid("A description has at most 200 characters.", mend="Shorten it; the module's README has room.")
