"""`manage.py verify` and the rows of a backup know mirrored packages."""

from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.accounts.access.gate import NOBODY
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import Alarm, AlarmKind, Upstream, UpstreamPackage
from apps.contrib.mirror.tests import fetched
from apps.contrib.mirror.tests.shelf import damage, file_of, put
from apps.lib.process.progress import Progress
from registry_site.operations import dump
from registry_site.startup import schema
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def package(upstream, registry) -> UpstreamPackage:
    registry.add_provider()
    return fetched.stored(upstream)


def alarm(upstream: Upstream) -> Alarm:
    return Alarm.objects.create(
        kind=AlarmKind.NO_KEY, upstream=upstream, namespace="acme", subject="acme", found={"key": None},
        seen_at=timezone.now(),
    )  # fmt: skip


def verify(*words: str) -> tuple[str, bool]:
    out, failed = StringIO(), False
    try:
        call_command("verify", *words, stdout=out)
    except CommandError:
        failed = True
    return out.getvalue(), failed


def test_what_is_as_it_was_fetched_is_sound_and_nothing_is_said_where_nothing_is_mirrored(
    published, upstream, registry
):
    published()
    assert verify() == ("1 published versions checked: 0 damaged.\n", False)

    registry.add_provider()
    fetched.stored(upstream)
    said, failed = verify()
    assert "1 mirrored packages checked: 0 damaged." in said
    assert not failed


@for_each_row("harm", ["damaged", "missing"])
def test_lost_bytes_are_named_let_go_and_fetched_again(package, upstream, harm):
    if harm == "missing":
        file_of(package.digest).unlink()
    else:
        damage(package.digest)
    said, failed = verify("--sample", "5")

    assert failed
    assert f"acme/tool 1.0.0 linux_amd64: {harm}" in said
    assert "the next client has it fetched again" in said
    assert fetched.reread(package).blob is None
    assert fetched.stored(upstream).blob is not None
    assert verify()[1] is False


def test_a_row_that_no_longer_says_what_was_signed_is_named(package):
    other = put(b"another zip")
    UpstreamPackage.objects.filter(pk=package.pk).update(digest=other.digest, blob=other, size=other.size)
    said, failed = verify()

    assert failed
    assert f"the signed sums say sha256:{package.digest}, its row sha256:{other.digest}" in said


def rows_of(tables: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {table: list(model.objects.order_by("pk").values()) for table, model in tables.items()}


@pytest.mark.both
def test_a_dump_and_its_restore_keep_every_row(package, upstream, tmp_path, monkeypatch):
    alarm(upstream)
    tables = {table: model for table, model in dump.tables_of(apps).items() if table.startswith("upstream_")}
    assert {model.__name__ for model in apps.get_app_config("upstream").get_models()} == {
        model.__name__ for model in tables.values()
    }
    before = rows_of(tables)
    for table, model in tables.items():
        written = dump.write_table(model, tmp_path / f"{table}.jsonl.gz", "default", Progress("rows", 1))
        assert written == len(before[table])
    upstreams.remove(upstream.host, actor=NOBODY)
    assert not UpstreamPackage.objects.exists()

    of_all = dump.tables_of
    monkeypatch.setattr(
        dump, "tables_of", lambda of: {table: one for table, one in of_all(of).items() if table in tables}
    )
    monkeypatch.setattr(schema, "bring_up_to_date", lambda: None)
    dump.load(tmp_path, {"upstream": dump.migrations()["upstream"]}, dump.last_numbers("default"), rows=1)

    assert rows_of(tables) == before
    assert before["upstream_upstreamversion"][0]["sums"]
    assert verify()[1] is False
