"""Releases that await approval, and those who decide about them. Alice publishes, Bob approves."""

import json
from typing import Any

from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Grant, Membership, Namespace, Role, Scope, Team, User
from apps.accounts.people import service_accounts
from apps.releases.models import Release

JSON = "application/json"


def ask_for_approval(namespace: Namespace, *, second_factor: bool = False) -> None:
    Namespace.objects.filter(pk=namespace.pk).update(requires_approval=True, approval_needs_second_factor=second_factor)
    namespace.refresh_from_db()


def publisher(user: User, namespace: Namespace) -> User:
    Grant.objects.update_or_create(namespace=namespace, user=user, defaults={"role": Role.PUBLISHER})
    return user


def team_of(manager: User, namespace: Namespace, name: str = "cooks") -> Team:
    """A team that publishes in the namespace."""
    team = Team.objects.create(name=name)
    Membership.objects.create(team=team, user=manager, is_manager=True)
    Grant.objects.create(namespace=namespace, team=team, role=Role.PUBLISHER)
    return team


def machine_of(team: Team, manager: User, name: str = "ci") -> User:
    return service_accounts.create(team=team, name=name, actor=Viewer(manager))


def client_of(user: User, *, maker: User | None = None, scope: Scope = Scope.PUBLISH) -> Client:
    """A client with a token of the user, made by them or by somebody else."""
    _, secret = tokens.issue(user=user, label="test", scope=scope, actor=Viewer(maker or user))
    return Client(headers={"authorization": f"Bearer {secret}"})


def decide(client: Client, release: Release, verb: str, digest: str | None = None, **more: Any) -> Any:
    body = {"digest": f"sha256:{release.digest}" if digest is None else digest, **more}
    return client.post(f"/api/v1/releases/{release.public_id}/{verb}", json.dumps(body), content_type=JSON)
