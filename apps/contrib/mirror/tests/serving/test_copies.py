"""What a copy of the mirror has: stored packages, as every reader of that host may see them."""

from apps.accounts.models import Visibility
from apps.contrib.mirror.models import Upstream
from apps.contrib.mirror.tests import shelf
from apps.http import mirrors
from apps.lib.mirrored import HostedProvider, MirroredCopy
from tests.rows import for_each_row

RANDOM = HostedProvider(shelf.HOST, "hashicorp", "random")


def copied() -> MirroredCopy | None:
    assert mirrors.others is not None
    assert list(mirrors.others.copied_providers()) == [RANDOM]
    return mirrors.others.copied(RANDOM)


def test_a_copy_has_the_versions_of_which_packages_are_stored(db):
    upstream = shelf.add_upstream(cooldown_days=0, visibility=Visibility.PUBLIC)
    stored = shelf.add_package(shelf.add_version(upstream))
    shelf.add_version(upstream, version="3.7.0")

    found = copied()

    assert found is not None
    assert [number for number, _ in found.versions] == ["3.6.0"]
    assert [one.digest for one in found.versions[0][1]] == [stored.digest]
    assert found.is_public


def test_what_policy_holds_back_comes_when_its_time_has_come(db):
    upstream = shelf.add_upstream(cooldown_days=7, visibility=Visibility.PRIVATE)
    shelf.add_package(shelf.add_version(upstream))

    found = copied()

    assert found is not None
    assert found.versions == []
    assert 6 * 86400 < found.seconds <= 7 * 86400
    assert not found.is_public


@for_each_row("fields", [{"is_enabled": False}, {"terraform_only": True}])
def test_what_is_switched_off_or_for_some_clients_alone_is_in_no_copy(fields, db):
    shelf.add_package(shelf.add_version(shelf.add_upstream(cooldown_days=0)))
    assert copied() is not None
    Upstream.objects.update(is_enabled=True, terraform_only=False)

    Upstream.objects.update(**fields)

    assert copied() is None
