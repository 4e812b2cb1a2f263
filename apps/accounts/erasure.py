"""Erase a person (D14). Only the account's number stays, so that the audit keeps its actor."""

import re

from django.contrib.admin.models import LogEntry
from django.contrib.auth.hashers import make_password
from django.contrib.contenttypes.models import ContentType
from django.db import models, transaction
from django.db.models.fields.reverse_related import ForeignObjectRel

from apps.accounts import namespaces
from apps.accounts.access import connections
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Invitation, Membership, Role, User
from apps.accounts.people import accounts, teams
from apps.audit.kinds import Kind
from apps.lib.errors import Conflict, Invalid


@transaction.atomic
def erase(*, user: User, actor: Viewer, hand_to: User | None = None) -> None:
    """Delete the person's name and everything of theirs; releases stay, by "a former user".

    Owners get a mail of the connections that the person leaves behind.

    `hand_to` becomes owner and manager wherever the person was the only one. Raises Conflict, with the list, if that is
    needed and missing, and Invalid.
    """
    row = User.objects.select_for_update().get(pk=user.pk)
    if row.is_erased:
        raise Conflict(f"Account {row.pk} is erased already.")
    _hand_over(row, actor, hand_to)
    accounts.lock_out(user=row, actor=actor)
    for grant in Grant.objects.filter(user=row).select_related("namespace").order_by("pk"):
        namespaces.withdraw(grant=grant, actor=actor)
    for membership in Membership.objects.filter(user=row).select_related("team").order_by("pk"):
        teams.remove(membership=membership, actor=actor)
    _redact_admin_log(row)
    Invitation.objects.filter(models.Q(created_by=row) | models.Q(used_by=row)).update(note="")
    _delete_what_is_theirs(row)
    with connections.watching(actor, users=[row.pk]):  # as an operator; roles are withdrawn above
        User.objects.filter(pk=row.pk).update(
            username=row.pseudonym,
            email="",
            first_name="",
            last_name="",
            password=make_password(None),
            last_login=None,
            is_active=False,
            is_staff=False,
            is_superuser=False,
        )
    user.refresh_from_db()
    actor.record(Kind.USER_ERASED, subject=f"user/{row.pk}", handed_to=hand_to.pk if hand_to else None)


def _hand_over(user: User, actor: Viewer, hand_to: User | None) -> None:
    if hand_to is not None and (hand_to.pk == user.pk or not hand_to.is_active):
        raise Invalid(f"{hand_to} cannot take over.", hint="Name someone else, with an active account.")
    behind = accounts.left_behind(user)
    if behind and hand_to is None:
        raise Conflict(
            f"{user} is {behind}.", hint="Name other owners and managers first, or transfer these to someone."
        )
    if hand_to is None:
        return
    for namespace in behind.namespaces:
        own = Grant.objects.filter(namespace=namespace, user=user, role=Role.OWNER).first()
        namespaces.transfer(namespace=namespace, to=hand_to, actor=actor, giver=own)
    for team in behind.teams:
        membership = teams.add(team=team, user=hand_to, actor=actor)
        teams.set_manager(membership=membership, is_manager=True, actor=actor)


def _delete_what_is_theirs(user: User) -> None:
    """Delete every row that would go with the account if it were deleted: tokens, fetches, e-mail addresses.

    Rows that outlive the person (releases, audit) have only the number, and the admin's log is redacted.
    """
    # Hidden ones too, such as past addresses, but only of this app: elsewhere they are uploads, whose sweep needs the
    # row to delete the bytes.
    for relation in User._meta.get_fields(include_hidden=True):  # noqa: SLF001  # Django's public name for it
        if not isinstance(relation, ForeignObjectRel) or relation.on_delete is not models.CASCADE:
            continue
        is_elsewhere = relation.hidden and relation.related_model._meta.app_label != User._meta.app_label  # noqa: SLF001
        if not is_elsewhere and relation.related_model is not LogEntry:
            relation.related_model._base_manager.filter(**{relation.field.name: user.pk}).delete()  # noqa: SLF001
    user.user_permissions.clear()
    user.groups.clear()


def _redact_admin_log(user: User) -> None:
    """Remove names from Django's admin log, which stores how rows were called: user names, notes of invitations."""
    rows = LogEntry.objects.all()
    kind = ContentType.objects.get_for_model
    rows.filter(content_type=kind(User), object_id=str(user.pk)).update(object_repr=user.pseudonym)
    for invitation in Invitation.objects.filter(models.Q(created_by=user) | models.Q(used_by=user)).exclude(note=""):
        noted = rows.filter(content_type=kind(Invitation), object_id=str(invitation.pk))
        noted.update(object_repr=f"invitation {invitation.pk}")
    # `str()` of grants and memberships, alone or quoted inside the message of a page with several.
    called = re.compile(rf'(^|"){re.escape(user.username)}(?= is | in )')
    holding = models.Q(object_repr__startswith=user.username) | models.Q(change_message__contains=f'"{user.username}')
    for entry in rows.filter(holding).order_by("pk").iterator():
        LogEntry.objects.filter(pk=entry.pk).update(
            object_repr=called.sub(rf"\g<1>{user.pseudonym}", entry.object_repr),
            change_message=called.sub(rf"\g<1>{user.pseudonym}", entry.change_message),
        )
