"""On PostgreSQL each month of the audit is a partition: rows find theirs, old ones are dropped, none is refused."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from apps.audit import chain, months
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent, Link
from apps.audit.recorder import record
from tests.audit.tampering import age
from tests.site.operations.database_roles import WEB, assert_refused, role

pytestmark = [pytest.mark.both, pytest.mark.needs("on PostgreSQL")]


def ask(sql: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return sorted(str(row[0]) for row in cursor.fetchall())


def partitions() -> list[str]:
    return ask("SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'audit_auditevent'::regclass")


def month_of(days: int) -> str:
    return f"audit_auditevent_{timezone.now() - timedelta(days=days):%Y_%m}"


def test_old_months_are_dropped_whole_and_a_row_that_was_linked_late_is_no_gap(db):
    now, a_day = timezone.now(), timedelta(days=1)
    months.add(since=now - timedelta(days=500))
    rows = [record(Kind.USER_SIGNED_IN, actor_id=1, subject=f"user/{number}") for number in range(4)]
    boundary = months.first_moment(now - timedelta(days=400))
    for row, at in zip(rows, (boundary - 40 * a_day, boundary, boundary - a_day / 9000, boundary + a_day), strict=True):
        age([row], days=(now - at) / a_day)

    assert chain.prune() == 1, "links end before the first one that stays"
    assert [row.subject for row in AuditEvent.objects.order_by("pk")] == ["user/1", "user/3", "audit"]
    assert chain.verify().problems == []
    left = partitions()
    assert (min(left), max(left)) == (f"audit_auditevent_{boundary:%Y_%m}", "audit_auditevent_default")


def test_a_month_is_added_once_and_none_whose_rows_are_in_the_default_partition(db):
    ahead = max(set(partitions()) - {"audit_auditevent_default"})
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {ahead}")
    before = partitions()
    assert month_of(0) in before
    assert month_of(-55) in before
    age([record(Kind.USER_SIGNED_IN, actor_id=1, subject="user/1")], days=100)
    months.add(since=timezone.now() - timedelta(days=130))

    added = {ahead, *(month_of(days) for days in range(131))}
    assert set(partitions()) - set(before) == added - {month_of(100), *before}


def test_no_role_passes_by_the_table(roles):
    record(Kind.USER_SIGNED_IN, actor_id=1, subject="user/1")
    attacks = ("DELETE FROM {}", "UPDATE {} SET actor_id = 2", "TRUNCATE {}", "SELECT id FROM {}")
    for sql in attacks:
        with role(WEB):
            assert_refused(sql.format(month_of(0)))
    for sql in attacks[:2]:
        assert_refused(sql.format(month_of(0)), by="append-only")


RULES = {
    "indexes": "SELECT replace(indexdef, ' ON ONLY ', ' ON ') FROM pg_indexes "
    "WHERE tablename = 'audit_auditevent' AND schemaname = 'landed' AND indexname <> 'audit_auditevent_pkey'",
    "triggers": "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'audit_auditevent'::regclass",
    "privileges": "SELECT unnest(relacl) FROM pg_class WHERE oid = 'audit_auditevent'::regclass UNION ALL "
    "SELECT unnest(attacl) FROM pg_attribute WHERE attrelid = 'audit_auditevent'::regclass",
}


def test_the_table_of_a_landed_version_becomes_months_with_all_that_it_had(roles):
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA landed; SET LOCAL search_path = landed")
        MigrationExecutor(connection).migrate([("audit", "0024_describe_fields")])
        months.add()  # a restored backup of an earlier version asks, too
        cursor.execute(f"GRANT INSERT, SELECT (id) ON audit_auditevent TO {WEB}")
        cursor.execute(f"GRANT EXECUTE ON FUNCTION audit_prune TO {WEB}")
    rows = [AuditEvent.objects.create(kind=Kind.USER_SIGNED_IN, subject=f"user/{number}") for number in range(3)]
    age(rows[:1], days=90)
    chain.link()
    before = {what: ask(sql) for what, sql in RULES.items()}
    MigrationExecutor(connection).migrate([("audit", "0025_months")])

    assert {what: ask(sql) for what, sql in RULES.items()} == before
    assert chain.verify() == chain.Report(3, Link.objects.latest("pk").digest)
    assert ask("SELECT tableoid::regclass FROM audit_auditevent WHERE subject = 'user/0'") == [month_of(90)]
    assert AuditEvent.objects.create(kind=Kind.USER_SIGNED_IN, subject="user/3").pk == rows[-1].pk + 1
    assert ask(f"SELECT has_function_privilege('{WEB}', 'audit_add_months(timestamptz, integer)', 'EXECUTE')") == [
        "True"
    ]
