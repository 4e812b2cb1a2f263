from typing import Any

from django.db import migrations

TABLE, BEFORE, DEFAULT = "audit_auditevent", "audit_auditevent_before", "audit_auditevent_default"

# Each takes its lock for two seconds at most: whoever records an event waits behind it.
ADD_MONTHS = """
CREATE FUNCTION audit_add_months(first timestamptz, months_ahead integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, {schema}, pg_temp SET timezone = 'UTC' SET lock_timeout = '2s' AS $$
DECLARE
    month timestamptz := date_trunc('month', greatest(first, now() - interval '36500 days'));
    following timestamptz;
    part text;
    added integer := 0;
BEGIN
    LOCK TABLE {schema}.audit_auditevent IN SHARE UPDATE EXCLUSIVE MODE;
    WHILE month <= now() + make_interval(months => least(months_ahead, 12)) LOOP
        following := month + interval '1 month';
        part := 'audit_auditevent_' || to_char(month, 'YYYY_MM');
        IF to_regclass(format('{schema}.%I', part)) IS NULL
            AND NOT EXISTS (SELECT FROM {schema}.audit_auditevent_default WHERE at >= month AND at < following)
        THEN
            EXECUTE format(
                'CREATE TABLE {schema}.%I (LIKE {schema}.audit_auditevent INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part
            );
            EXECUTE format(
                'ALTER TABLE {schema}.audit_auditevent ATTACH PARTITION {schema}.%I FOR VALUES FROM (%L) TO (%L)',
                part, month, following
            );
            added := added + 1;
        END IF;
        month := following;
    END LOOP;
    RETURN added;
END $$;
REVOKE ALL ON FUNCTION audit_add_months(timestamptz, integer) FROM PUBLIC;
"""

# As before for a role without the privilege DELETE: up to a link that an event names, and nothing younger than 399 days.
PRUNE = """
CREATE OR REPLACE FUNCTION audit_prune(last_link bigint, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, {schema}, pg_temp SET timezone = 'UTC' SET lock_timeout = '2s' AS $$
DECLARE
    until timestamptz;
    part text;
    gone bigint;
BEGIN
    SELECT least(max((event.detail ->> 'before')::timestamptz), now() - interval '399 days') INTO until
        FROM audit_auditevent AS event JOIN audit_link AS link ON link.digest = event.detail ->> 'chain'
        WHERE event.kind = 'operation:audit:pruned' AND link.id = last_link HAVING count(*) > 0;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no event records that the audit is pruned up to link %', last_link USING ERRCODE = '42501';
    END IF;
    FOR part IN
        SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = 'audit_auditevent'::regclass AND relname ~ '^audit_auditevent_[0-9]{{4}}_[0-9]{{2}}$'
            AND to_date(right(relname, 7), 'YYYY_MM') + interval '1 month' <= until
    LOOP
        EXECUTE format('DROP TABLE {schema}.%I', part);
    END LOOP;
    DELETE FROM audit_auditevent_default
        WHERE id IN (SELECT id FROM audit_auditevent_default WHERE at < until ORDER BY at LIMIT most);
    DELETE FROM audit_link WHERE id IN (SELECT id FROM audit_link WHERE id <= last_link ORDER BY id LIMIT most);
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END $$;
"""


def partition(apps: Any, schema_editor: Any) -> None:
    """On PostgreSQL each month of the audit becomes a partition, which is dropped whole when it is old enough.

    All or nothing, under a lock: the rows are copied, then the indexes are built. Triggers (those of `signing` too) and
    privileges go over from the old table, so that processes of the last version go on recording.
    """
    if schema_editor.connection.vendor != "postgresql":
        return
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {TABLE} IN ACCESS EXCLUSIVE MODE")
        schema = _column(cursor, "SELECT quote_ident(current_schema())")[0]
        indexes = _column(
            cursor,
            f"SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = '{TABLE}'::regclass AND NOT indisprimary",
        )
        triggers = _column(
            cursor,
            f"SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = '{TABLE}'::regclass AND NOT tgisinternal",
        )
        grants = _column(cursor, GRANTS)
        sequence = _column(cursor, f"SELECT pg_get_serial_sequence('{TABLE}', 'id')")[0]
        last, is_called = _row(cursor, f"SELECT last_value, is_called FROM {sequence}")
        for statement in (
            f"ALTER SEQUENCE {sequence} RENAME TO {BEFORE}_id_seq",
            f"ALTER TABLE {TABLE} RENAME TO {BEFORE}",
            f"ALTER INDEX {TABLE}_pkey RENAME TO {BEFORE}_pkey",
            f"CREATE TABLE {TABLE} (LIKE {BEFORE} INCLUDING DEFAULTS INCLUDING IDENTITY INCLUDING CONSTRAINTS "
            "INCLUDING COMMENTS INCLUDING STORAGE) PARTITION BY RANGE (at)",
            f"CREATE TABLE {DEFAULT} PARTITION OF {TABLE} DEFAULT",
            ADD_MONTHS.format(schema=schema),
            PRUNE.format(schema=schema),
            f"SELECT audit_add_months(coalesce((SELECT min(at) FROM {BEFORE}), now()), 3)",
            f"INSERT INTO {TABLE} SELECT * FROM {BEFORE}",
            f"DROP TABLE {BEFORE}",
            # PostgreSQL wants the column that decides the partition in each unique index; `id` alone is what Larder asks by.
            f"ALTER TABLE {TABLE} ADD CONSTRAINT {TABLE}_pkey PRIMARY KEY (id, at)",
            *indexes,
            *triggers,
            *grants,
        ):
            cursor.execute(statement)
        cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s, %s)", [TABLE, last, is_called])
        cursor.execute(f"ANALYZE {TABLE}")


# What roles may do with the table and its columns, and who may call the new function: those who may prune.
GRANTS = f"""
SELECT format('GRANT %s ON {TABLE} TO %s', privilege_type, grantee::regrole)
    FROM pg_class, aclexplode(relacl) WHERE oid = '{TABLE}'::regclass AND grantee <> relowner AND grantee <> 0
UNION ALL
SELECT format('GRANT %s (%I) ON {TABLE} TO %s', privilege_type, attname, grantee::regrole)
    FROM pg_attribute, aclexplode(attacl) WHERE attrelid = '{TABLE}'::regclass AND grantee <> 0
UNION ALL
SELECT format('GRANT EXECUTE ON FUNCTION audit_add_months(timestamptz, integer) TO %s', grantee::regrole)
    FROM pg_proc, aclexplode(proacl)
    WHERE pg_proc.oid = 'audit_prune(bigint, integer)'::regprocedure AND grantee <> proowner AND grantee <> 0
"""


def _column(cursor: Any, sql: str) -> list[Any]:
    cursor.execute(sql)
    return [row[0] for row in cursor.fetchall()]


def _row(cursor: Any, sql: str) -> Any:
    cursor.execute(sql)
    return cursor.fetchone()


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0024_describe_fields"),
    ]

    operations = [
        migrations.RunPython(partition),
    ]
