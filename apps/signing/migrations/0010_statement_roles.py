from typing import Any

from django.db import migrations

TRIGGERS = """
DROP TRIGGER signing_events ON audit_auditevent;
CREATE TRIGGER signing_events BEFORE INSERT ON audit_auditevent FOR EACH ROW
    WHEN (NEW.kind IN (
        'namespace:release:signed', 'namespace:release:signing-refused', 'namespace:release:stated',
        'operation:statement-key:made'
    ))
    EXECUTE FUNCTION signing_refuse_forged_event();

CREATE FUNCTION signing_refuse_unretired() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'a statement key that was retired stays so' USING ERRCODE = '42501';
END $$;
CREATE TRIGGER signing_statement_key_ends BEFORE UPDATE OF retired_at ON signing_statementkey FOR EACH ROW
    WHEN (OLD.retired_at IS NOT NULL AND NEW.retired_at IS DISTINCT FROM OLD.retired_at)
    EXECUTE FUNCTION signing_refuse_unretired();
"""
BEFORE = """
DROP FUNCTION signing_refuse_unretired CASCADE;
DROP TRIGGER signing_events ON audit_auditevent;
CREATE TRIGGER signing_events BEFORE INSERT ON audit_auditevent FOR EACH ROW
    WHEN (NEW.kind IN ('namespace:release:signed', 'namespace:release:signing-refused'))
    EXECUTE FUNCTION signing_refuse_forged_event();
"""


def protect(apps: Any, schema_editor: Any) -> None:
    """On PostgreSQL: a role that does not sign records no statement, and brings no statement key back."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(TRIGGERS, None)


def release(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(BEFORE, None)


class Migration(migrations.Migration):
    dependencies = [("signing", "0009_statement_keys")]

    operations = [
        migrations.AlterModelOptions(
            name="statementkey",
            options={"permissions": [("rotate_statementkey", "Can rotate the statement key")]},
        ),
        migrations.RunPython(protect, release),
    ]
