from typing import Any

from django.db import migrations

# Rows stay for at least 400 days (LARDER_AUDIT_DAYS); one day less, so that clocks may differ. Each function has its own
# search path: a caller's may find other functions and tables by the same names.
TRIGGERS = """
CREATE FUNCTION audit_refuse_update() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: its rows are never changed', TG_TABLE_NAME USING ERRCODE = '42501';
END $$;

CREATE FUNCTION audit_refuse_delete() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF OLD.at > now() - interval '399 days' THEN
        RAISE EXCEPTION '% is append-only: a row is deleted after 400 days at the earliest', TG_TABLE_NAME
            USING ERRCODE = '42501';
    END IF;
    RETURN OLD;
END $$;

CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit_auditevent
    FOR EACH ROW EXECUTE FUNCTION audit_refuse_update();
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit_link
    FOR EACH ROW EXECUTE FUNCTION audit_refuse_update();
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit_auditevent
    FOR EACH ROW EXECUTE FUNCTION audit_refuse_delete();
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit_link
    FOR EACH ROW EXECUTE FUNCTION audit_refuse_delete();
"""

# The only way for a role without the privilege DELETE. It asks for the event that says up to where the chain was pruned.
PRUNE = """
CREATE FUNCTION audit_prune(last_link bigint, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    gone bigint;
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM audit_auditevent AS event JOIN audit_link AS link ON link.digest = event.detail ->> 'chain'
        WHERE event.kind = 'operation:audit:pruned' AND link.id = last_link
    ) THEN
        RAISE EXCEPTION 'no event records that the audit is pruned up to link %', last_link USING ERRCODE = '42501';
    END IF;
    WITH batch AS (SELECT id, event_id FROM audit_link WHERE id <= last_link ORDER BY id LIMIT most),
        events AS (DELETE FROM audit_auditevent USING batch WHERE audit_auditevent.id = batch.event_id),
        links AS (DELETE FROM audit_link USING batch WHERE audit_link.id = batch.id RETURNING 1)
    SELECT count(*) INTO gone FROM links;
    RETURN gone;
END $$;
REVOKE ALL ON FUNCTION audit_prune(bigint, integer) FROM PUBLIC;
"""


def protect(apps: Any, schema_editor: Any) -> None:
    """On PostgreSQL nobody changes or deletes an event or a link, the owner of the tables included.

    The triggers hold for every role. Rows older than 399 days may be deleted: by the owner, and by those to whom
    `manage.py database_roles` gives the function `audit_prune`. A role that owns the tables can still drop the
    triggers; the processes of Larder should not be that role. A later migration that must change rows disables them.
    """
    if schema_editor.connection.vendor != "postgresql":
        return
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_schema())")
        schema = cursor.fetchone()[0]
    schema_editor.execute(TRIGGERS, None)
    schema_editor.execute(PRUNE.format(schema=schema), None)


def release(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            "DROP FUNCTION audit_prune; DROP FUNCTION audit_refuse_update CASCADE; "
            "DROP FUNCTION audit_refuse_delete CASCADE"
        )


class Migration(migrations.Migration):
    dependencies = [("audit", "0022_kinds_by_name")]

    operations = [migrations.RunPython(protect, release)]
