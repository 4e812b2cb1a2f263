"""A database that people have used is never shown as a demonstration, and never reset"""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from structlog.testing import capture_logs

from apps.accounts.models import ApiToken, Namespace, User
from apps.audit.models import AuditEvent
from apps.contrib.demo import foreign, tasks
from apps.lib.errors import Invalid
from apps.releases.models import Release
from registry_site.startup import schema
from registry_site.startup.bootstrap import CannotStartError

pytestmark = pytest.mark.django_db


def a_person() -> None:
    User.objects.create_user("dora")


def a_sign_in() -> None:
    User.objects.create_user("maya", last_login=timezone.now())


def a_password() -> None:
    User.objects.create_user("maya", password="likes pears a lot")


def work_of_the_administrator() -> None:
    User.objects.create_superuser("admin", password="likes pears a lot", last_login=timezone.now())


def a_token() -> None:
    user = User.objects.create_superuser("admin", password="likes pears a lot")
    ApiToken.objects.create(user=user, label="ci", scope="read", digest="1" * 64, expires_at=timezone.now())


def a_namespace() -> None:
    Namespace.objects.create(name="shop", canonical="shop")


def a_deleted_namespace() -> None:
    Namespace.objects.create(name="shop", canonical="shop", deleted_at=timezone.now())


def a_release() -> None:
    space = Namespace.objects.create(name="acme", canonical="acme")
    Release.objects.create(
        kind="module", namespace=space, name="vpc/aws", version="9.9.9", sort_key=b"9", staging_key="x"
    )


SIGNS: dict[Callable[[], None], str] = {
    a_person: "the account dora",
    a_sign_in: "a sign-in of maya",
    a_password: "a password of maya",
    work_of_the_administrator: "a sign-in of admin",
    a_token: "the token 'ci'",
    a_namespace: "the namespace shop",
    a_deleted_namespace: "the namespace shop",
    a_release: "the release acme/vpc/aws 9.9.9",
}


@pytest.mark.parametrize("leave", SIGNS, ids=lambda leave: leave.__name__)
def test_each_sign_of_use_stops_the_start_and_says_what_was_found(
    demonstration: Any, leave: Callable[[], None]
) -> None:
    leave()

    with pytest.raises(CannotStartError) as refused:
        schema.check()

    assert f"LARDER_DEMO=on: found {SIGNS[leave]} in the database, expected an empty one" in str(refused.value)
    assert "remove LARDER_DEMO" in str(refused.value)


def test_migrate_refuses_too(demonstration: Any) -> None:
    a_person()

    with pytest.raises(CommandError, match="the account dora"):
        call_command("migrate", verbosity=0)


def test_many_are_counted() -> None:
    for number in range(5):
        User.objects.create_user(f"person{number}")

    assert len(list(foreign.strangers())) == 5


def test_without_the_setting_nothing_is_refused() -> None:
    a_person()

    foreign.refuse()
    schema.check()


def test_an_empty_database_may_start(demonstration: Any) -> None:
    schema.check()


def test_a_reset_over_a_registry_in_use_changes_nothing(demonstration: Any) -> None:
    a_release()

    with capture_logs() as lines:
        tasks.reset()
        tasks.fill()

    assert [line["event"] for line in lines] == ["demonstration_refused"] * 2
    assert Release.objects.get().version == "9.9.9"
    assert not AuditEvent.objects.exists()


@pytest.mark.parametrize(("name", "value"), [("SECOND_FACTOR", "staff"), ("IDENTITY_PROVIDERS", ("corp",))])
def test_sign_in_and_demonstration_exclude_each_other(demonstration: Any, name: str, value: Any) -> None:
    setattr(demonstration, name, value)

    with pytest.raises(Invalid, match="visitors do not sign in"):
        foreign.refuse()


def test_it_does_not_start_without_the_room_that_keeps_it_read_only(demonstration: Any) -> None:
    demonstration.ROOMS_LEFT_OUT = frozenset({"apps.contrib.demo"})

    with pytest.raises(Exception, match=r"larder\.E033"):
        call_command("check")
