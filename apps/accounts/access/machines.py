"""Accounts that publish for a rule or a repository: each has the role publisher in one namespace, and nothing else.

They have no password. Releases and audit rows name them, so that they stay when they end.
"""

import secrets

from django.contrib.auth.hashers import make_password

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Act, ApiToken, Grant, MachineAct, Namespace, Role, User


def make(namespace: Namespace, actor: Viewer) -> User:
    """In the caller's transaction, which names it afterwards: names have the number of what it publishes for."""
    machine = User.objects.create(
        username=f"new-{secrets.token_hex(16)}[bot]", password=make_password(None), is_service=True
    )
    allow(machine.pk, namespace, actor)
    return machine


def allow(number: int, namespace: Namespace, actor: Viewer) -> None:
    """Give its role, at first or again. Safe to repeat."""
    values = {"role": Role.PUBLISHER, "given_by": actor.user}
    Grant.objects.get_or_create(namespace=namespace, user_id=number, defaults=values)


def resume(number: int, namespace: Namespace, actor: Viewer) -> None:
    """Give its role again, after `suspend`: the actor has a hand in what comes from then on."""
    allow(number, namespace, actor)
    acted(number, actor, Act.CHANGED)


def suspend(number: int) -> None:
    """Take its role for a time: the gate refuses what it is about to publish. Safe to repeat."""
    Grant.objects.filter(user=number).delete()


def name(machine: User, namespace: Namespace, what: str) -> None:
    """`what`: such as git-7."""
    machine.username = f"{namespace.name}:{what}[bot]"
    machine.save(update_fields=["username"])


def end(number: int) -> None:
    """Take its role. Safe to repeat."""
    suspend(number)
    User.objects.filter(pk=number).update(is_active=False)


def acted(number: int, actor: Viewer, act: Act) -> None:
    """Record who had a hand in what the machine publishes for, in the caller's transaction. Safe to repeat."""
    for person in people_behind(actor):
        MachineAct.objects.get_or_create(machine_id=number, user_id=person, act=act)


def people_behind(viewer: Viewer) -> set[int]:
    """Return the account that asks, and the maker of the token that it sends: the token may end before the result is
    read.
    """
    makers = ApiToken.objects.filter(pk=viewer.token_id or 0, made_by__isnull=False).values_list("made_by", flat=True)
    return {*([viewer.user_id] if viewer.user_id else []), *(makers if viewer.token_id else [])}
