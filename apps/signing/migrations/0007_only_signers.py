from typing import Any

from django.db import migrations

TRIGGERS = """
CREATE FUNCTION signing_refuse_forged_event() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT has_table_privilege(format('%I.signing_privatekey', TG_TABLE_SCHEMA), 'INSERT') THEN
        RAISE EXCEPTION 'only the role of signing workers records %', NEW.kind USING ERRCODE = '42501';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER signing_events BEFORE INSERT ON audit_auditevent FOR EACH ROW
    WHEN (NEW.kind IN ('namespace:release:signed', 'namespace:release:signing-refused'))
    EXECUTE FUNCTION signing_refuse_forged_event();

CREATE FUNCTION signing_refuse_return() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'a key that was % stays so', OLD.state USING ERRCODE = '42501';
END $$;
CREATE TRIGGER signing_key_ends BEFORE UPDATE OF state ON signing_signingkey FOR EACH ROW
    WHEN (OLD.state = 'revoked' AND NEW.state <> 'revoked' OR OLD.state = 'retired' AND NEW.state = 'active')
    EXECUTE FUNCTION signing_refuse_return();
"""


def protect(apps: Any, schema_editor: Any) -> None:
    """On PostgreSQL, what a role that does not sign could forge with the privileges that it needs.

    It writes audit rows, but not those of signatures; it ends keys, but cannot bring one back.
    """
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(TRIGGERS, None)


def release(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            "DROP FUNCTION signing_refuse_forged_event CASCADE; DROP FUNCTION signing_refuse_return CASCADE"
        )


class Migration(migrations.Migration):
    dependencies = [("signing", "0006_requests_name_releases"), ("audit", "0023_append_only")]

    operations = [migrations.RunPython(protect, release)]
