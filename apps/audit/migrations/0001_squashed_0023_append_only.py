from typing import Any

from django.db import migrations, models

import apps.audit.kinds

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
        schema_editor.execute("DROP FUNCTION audit_prune; DROP FUNCTION audit_refuse_update CASCADE; DROP FUNCTION audit_refuse_delete CASCADE")


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("audit", "0001_initial"), ("audit", "0002_more_kinds"), ("audit", "0003_signing_and_drafts"), ("audit", "0004_oci"),
        ("audit", "0005_restored_database"), ("audit", "0006_namespace_deletion"), ("audit", "0007_sessions_ended"), ("audit", "0008_plain_words"),
        ("audit", "0009_erased"), ("audit", "0010_generation"), ("audit", "0011_login"), ("audit", "0012_chain_and_origin"),
        ("audit", "0013_fill_origin"), ("audit", "0014_sign_on"), ("audit", "0015_service_accounts"), ("audit", "0016_leaks"),
        ("audit", "0017_searched_by_index"), ("audit", "0018_second_factors"), ("audit", "0019_cleanup"), ("audit", "0020_webhooks"),
        ("audit", "0021_mail"), ("audit", "0022_kinds_by_name"), ("audit", "0023_append_only"),
    ]

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(auto_now_add=True, db_index=True)),
                ("kind", models.CharField(choices=apps.audit.kinds.choices, max_length=64)),
                ("actor_id", models.BigIntegerField(db_index=True, null=True)),
                ("token_id", models.BigIntegerField(null=True)),
                ("subject", models.CharField(db_index=True, help_text="The address of the changed object.", max_length=300)),
                ("detail", models.JSONField(default=dict)),
                ("request_id", models.CharField(blank=True, max_length=64)),
                ("address", models.CharField(blank=True, db_default="", help_text="The client's; empty for Larder.", max_length=45)),
                ("namespace", models.CharField(blank=True, db_default="", help_text="In its canonical form, if any.", max_length=64)),
            ],
            options={
                "indexes": [
                    models.Index(condition=~models.Q(namespace=""), fields=["namespace", "-at", "-id"], name="audit_of_namespace"),
                    models.Index(fields=["kind", "at"], name="audit_by_kind"),
                    models.Index(fields=["request_id"], name="audit_by_request"),
                    models.Index(fields=["address"], name="audit_by_address"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Generation",
            fields=[
                ("scope", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("number", models.BigIntegerField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="Link",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("event_id", models.BigIntegerField(unique=True)),
                ("at", models.DateTimeField(help_text="The event's.")),
                ("previous", models.CharField(help_text="The digest of the link before.", max_length=64, unique=True)),
                ("digest", models.CharField(max_length=64)),
            ],
        ),
        migrations.RunPython(protect, release),
    ]
