from typing import Any

import pytest
from django.utils import timezone

from apps.accounts import creations, namespace_deletion
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Grant, Namespace, Role, Scope, User
from apps.accounts.namespaces import grants_in
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.contrib.git import connecting, hooks, host_scanning
from apps.contrib.git.models import GitRepository, Tag, Verdict
from apps.contrib.git.tests.conftest import RULES, Git, work_off
from apps.lib.errors import Conflict, Invalid, NotFound, RoleRequired
from tests.builders.git_servers import Repository
from tests.rows import for_each_row
from tests.sessions import in_browser


def test_a_repository_has_a_machine_that_publishes_and_nothing_else(git: Git, acme: Namespace):
    machine = git.repository.user

    assert machine.username == f"acme:git-{git.repository.pk}[bot]"
    assert machine.is_service
    assert not machine.has_usable_password()
    assert Grant.objects.get(user=machine).role == Role.PUBLISHER
    assert machine not in [grant.user for grant in grants_in(acme)]
    event = AuditEvent.objects.get(kind=Kind.GIT_REPOSITORY_CONNECTED)
    assert event.detail["rules"] == RULES
    assert event.namespace == "acme"


def test_secrets_are_sealed_and_shown_once(acme: Namespace, dora: User):
    found = connecting.connect(
        namespace=acme,
        actor=in_browser(dora),
        url="https://git.acme.example/team/vpc",
        credential={"kind": "token", "token": "glpat-secret-of-dora"},
    )
    row = GitRepository.objects.values().get(pk=found.repository.pk)

    assert "glpat-secret-of-dora" not in str(row)
    assert found.hook_secret not in str(row)
    assert "glpat-secret-of-dora" not in str(list(AuditEvent.objects.values()))
    renewed = connecting.renew_hook_secret(repository=found.repository, actor=in_browser(dora))
    assert renewed != found.hook_secret
    assert renewed not in str(list(AuditEvent.objects.values()))
    assert hooks.url_of(found.repository)


@for_each_row(
    ("given", "said"),
    [
        ({"url": "file:///etc"}, "https:// or ssh://"),
        ({"url": "ext::sh -c id"}, ""),
        ({"url": "https://10.0.0.5/team/vpc"}, "10.0.0.5 with https on port 443 is not allowed"),
        ({"url": "http://192.168.1.2:3000/team/vpc"}, "192.168.1.2 with http on port 3000 is not allowed"),
        ({"url": "ssh://git@10.0.0.5/team/vpc"}, "10.0.0.5 with ssh on port 22 is not allowed"),
        ({"url": "git@169.254.169.254:team/vpc"}, "169.254.169.254 with ssh"),
        ({"url": "https://2130706433/team/vpc"}, "2130706433 with https"),
        ({"url": "https://[fd00::1]/team/vpc"}, "fd00::1 with https"),
        ({"url": "ssh://git@[::ffff:127.0.0.1]/team/vpc"}, "::ffff:127.0.0.1 with ssh"),
        ({"url": "https://bob:secret@git.acme.example/vpc"}, "user name or password"),
        ({"forge": "sourcehut"}, "The forge is 'sourcehut'"),
        ({"poll_minutes": 0}, "poll_minutes is 0"),
        ({"poll_minutes": True}, "poll_minutes is True"),
        ({"allow_submodules": "yes"}, "allow_submodules is 'yes'"),
        ({"submodules": "some"}, "submodules is 'some', expected refuse, fetch, leave_out"),
        ({"submodules": "refuse", "allow_submodules": True}, "contradict each other"),
        ({"credential": {"kind": "password"}}, "credential"),
        ({"rules": [{"tag": "v{version}", "module": "vpc"}]}, "Rule 1: the module is 'vpc'"),
        ({"rules": [{"tag": "release", "module": "vpc/aws"}]}, "Rule 1: the tag pattern is 'release'"),
        ({"rules": [{"tag": "v{version}", "module": "{name}/aws"}]}, "{name} is used"),
        ({"rules": [{"tag": "{name}-{version}", "module": "vpc/aws"}]}, "different names would be versions of one"),
        ({"rules": [{"tag": "v{version}", "folder": "../other", "module": "vpc/aws"}]}, "Rule 1: found the folder"),
        ({"rules": [{"tag": "v{version}", "folder": "a\x07b", "module": "vpc/aws"}]}, "can be printed"),
        ({"rules": [{"tag": "v{version}", "module": "vpc/AWS"}]}, "Rule 1: system 'AWS'"),
        ({"rules": [{"tag": "v{version}", "modul": "vpc/aws"}]}, "There is no field".lower()),
        ({"rules": [{"tag": 1, "module": "vpc/aws"}]}, "the tag is int"),
        ({"rules": ["v{version}"]}, "found str, expected an object"),
        ({"rules": [*RULES, *RULES]}, "Rule 2 is the same as rule 1"),
        ({"rules": [{"tag": f"v{n}-{{version}}", "module": "vpc/aws"} for n in range(201)]}, "more than 200 rules"),
    ],
)
def test_bad_input_is_refused_with_what_was_found(acme: Namespace, dora: User, given: dict[str, Any], said: str):
    with pytest.raises(Invalid) as refused:
        connecting.connect(
            **{"namespace": acme, "actor": in_browser(dora), "url": "https://git.acme.example/vpc", **given}
        )

    assert said in str(refused.value)
    assert not GitRepository.objects.exists()
    assert not User.objects.filter(username__contains="[bot]").exists()


def test_the_same_repository_is_connected_once_by_any_url(acme: Namespace, dora: User, pantry: Namespace):
    def connect(url: str, namespace: Namespace = acme) -> None:
        connecting.connect(namespace=namespace, actor=in_browser(dora), url=url)

    connect("https://git.acme.example/team/vpc.git")
    for url in (
        "https://git.acme.example/team/vpc",
        "https://GIT.acme.example/Team/vpc/",
        "git@git.acme.example:team/vpc",
    ):
        with pytest.raises(Conflict, match="is connected to acme already"):
            connect(url)
    Grant.objects.create(namespace=pantry, user=dora, role=Role.OWNER)
    connect("https://git.acme.example/team/vpc", pantry)
    assert GitRepository.objects.count() == 2


def test_a_service_account_connects_and_changes_nothing(git: Git, acme: Namespace, upstream: Repository):
    machine = User.objects.create(username="robot", is_service=True)
    Grant.objects.create(namespace=acme, user=machine, role=Role.OWNER)
    actor = Viewer(machine)

    for act in (
        lambda: connecting.connect(namespace=acme, actor=actor, url="https://git.acme.example/vpc"),
        lambda: connecting.change(repository=git.repository, actor=actor, poll_minutes=1),
        lambda: connecting.renew_hook_secret(repository=git.repository, actor=actor),
        lambda: connecting.trust_host_keys(repository=git.repository, actor=actor, fingerprints=[]),
        lambda: host_scanning.ask(repository=git.repository, actor=actor),
    ):
        with pytest.raises(RoleRequired, match="A service account cannot"):
            act()
    refused = AuditEvent.objects.filter(kind=Kind.PERMISSION_REFUSED)
    assert set(refused.values_list("subject", flat=True)) == {"acme"}
    assert refused.count() == 5


def test_what_is_changed_is_in_the_audit_without_secrets(git: Git):
    credential = {"kind": "token", "token": "glpat-secret-of-dora"}
    connecting.change(repository=git.repository, actor=git.actor, poll_minutes=5, credential=credential)

    assert git.repository.poll_minutes == 5
    event = AuditEvent.objects.get(kind=Kind.GIT_REPOSITORY_CHANGED)
    assert event.detail["changes"] == {"poll_minutes": 5, "credential_kind": "token"}
    with pytest.raises(Invalid, match="url of a repository cannot be changed"):
        connecting.change(repository=git.repository, actor=git.actor, url="https://elsewhere.example/x")


def test_a_deleted_namespace_ends_its_repositories(git: Git, acme: Namespace, dora: User):
    namespace_deletion.delete(namespace=acme, actor=in_browser(dora))

    git.repository.refresh_from_db()
    assert git.repository.ended_at is not None
    assert not User.objects.get(pk=git.repository.user_id).is_active
    assert Kind.GIT_REPOSITORY_DISCONNECTED in AuditEvent.objects.values_list("kind", flat=True)


def test_a_disconnected_repository_keeps_no_credential_and_is_not_found(git: Git, acme: Namespace):
    credential = {"kind": "token", "token": "glpat-secret-of-dora"}
    connecting.change(repository=git.repository, actor=git.actor, credential=credential)
    connecting.disconnect(repository=git.repository, actor=git.actor)
    connecting.disconnect(repository=git.repository, actor=git.actor)

    assert GitRepository.objects.get().sealed_credential == ""
    assert not Grant.objects.filter(user=git.repository.user_id).exists()
    with pytest.raises(NotFound):
        connecting.repository_of(acme, git.repository.pk)
    with pytest.raises(Conflict):
        connecting.change(repository=git.repository, actor=git.actor, poll_minutes=5)
    assert AuditEvent.objects.filter(kind=Kind.GIT_REPOSITORY_DISCONNECTED).count() == 1


def test_what_waits_is_not_published_after_the_repository_was_disconnected(git: Git):
    now = timezone.now()
    for name, verdict in (("v1.0.0", Verdict.WAITING), ("v0.9.0", Verdict.PUBLISHED)):
        row = {"module": "vpc/aws", "commit": "4d7a" * 10, "verdict": verdict, "seen_at": now, "changed_at": now}
        Tag.objects.create(repository=git.repository, name=name, **row)

    connecting.disconnect(repository=git.repository, actor=git.actor)

    waited, made = Tag.objects.order_by("-name")
    assert (waited.verdict, waited.code) == (Verdict.IGNORED, "disconnected")
    assert (made.verdict, made.code) == (Verdict.PUBLISHED, "")
    git.repository.refresh_from_db()
    assert git.repository.next_at is None
    assert work_off() == 0


def test_a_repository_that_a_stolen_token_connected_can_be_ended_with_it(acme: Namespace, dora: User):
    token, _ = tokens.issue(user=dora, label="stolen", scope=Scope.MANAGE, actor=Viewer(dora))
    connecting.connect(namespace=acme, actor=Viewer(dora, token), url="https://git.acme.example/vpc")

    assert connecting.CREATED_BY_TOKENS in creations.sources
    found = [row for row in connecting.CREATED_BY_TOKENS.rows() if row.created_by_token_id == token.pk]
    connecting.CREATED_BY_TOKENS.end(found[0], in_browser(dora))
    assert GitRepository.objects.get().ended_at is not None
