from typing import Any

import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

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
        schema_editor.execute("DROP FUNCTION signing_refuse_forged_event CASCADE; DROP FUNCTION signing_refuse_return CASCADE")


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("signing", "0001_initial"), ("signing", "0002_key_fingerprints"), ("signing", "0003_plain_words"), ("signing", "0004_signature_requests"),
        ("signing", "0005_key_services"), ("signing", "0006_requests_name_releases"), ("signing", "0007_only_signers"),
        ("signing", "0008_created_by_token"),
    ]

    dependencies = [("accounts", "0001_squashed_0018_created_by_token"), ("audit", "0001_squashed_0023_append_only")]

    operations = [
        migrations.CreateModel(
            name="SigningKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("custody", models.CharField(choices=[("publisher", "The publisher: Larder knows only the public key"), ("registry", "The registry: workers sign with it")], max_length=9)),
                ("state", models.CharField(choices=[("pending", "Pending"), ("active", "Active"), ("retired", "Retired"), ("revoked", "Revoked")], default="active", max_length=7)),
                ("fingerprint", models.CharField(blank=True, help_text="40 upper-case hex digits; empty while pending", max_length=40)),
                ("key_id", models.CharField(blank=True, help_text="The last 16 digits of the fingerprint.", max_length=16)),
                ("armor", models.TextField(blank=True, help_text="One armor block with one public key.")),
                ("algorithm", models.CharField(help_text="ed25519, rsa4096, nistp256, …", max_length=20)),
                ("uid", models.CharField(blank=True, max_length=300)),
                ("made_at", models.DateTimeField(blank=True, null=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("source", models.CharField(blank=True, help_text="The owner of the key, which clients may show.", max_length=100)),
                ("source_url", models.CharField(blank=True, max_length=300)),
                ("added_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("reason", models.CharField(blank=True, help_text="Why it was retired or revoked.", max_length=500)),
                ("added_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("ended_by", models.ForeignKey(blank=True, null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("namespace", models.ForeignKey(on_delete=models.PROTECT, related_name="signing_keys", to="accounts.namespace")),
                ("created_by_token", models.ForeignKey(editable=False, null=True, on_delete=models.SET_NULL, related_name="+", to="accounts.apitoken")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(condition=~models.Q(fingerprint=""), fields=("namespace", "fingerprint"), name="signing_key_once"),
                    models.CheckConstraint(condition=models.Q(armor="", fingerprint="", state="pending") | (models.Q(fingerprint__regex="^[0-9A-F]{40}$") & models.Q(key_id__regex="^[0-9A-F]{16}$") & ~models.Q(armor="")), name="signing_key_complete_or_pending"),
                    models.CheckConstraint(condition=models.Q(state__in=["pending", "active", "retired", "revoked"]), name="signing_key_state_known"),
                ],
            },
        ),
        migrations.CreateModel(
            name="PrivateKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("nonce", models.BinaryField(max_length=12)),
                ("ciphertext", models.BinaryField()),
                ("kek_id", models.CharField(help_text="The key-encryption key, by the start of the SHA-256 of it or of its address.", max_length=16)),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                ("key", models.OneToOneField(on_delete=models.PROTECT, related_name="private_key", to="signing.signingkey")),
                ("wrapped_key", models.BinaryField(help_text="The key of this row, as its key service has wrapped it.", null=True)),
            ],
        ),
        migrations.CreateModel(
            name="KeyFingerprint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(choices=[("secret-key", "Secret key: signs sessions and download links"), ("key-encryption-key", "Key-encryption key: seals private signing keys")], max_length=20, unique=True)),
                ("fingerprint", models.CharField(max_length=64)),
                ("host", models.CharField(help_text="The host that recorded it.", max_length=120)),
                ("recorded_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("answered_at", models.DateTimeField(blank=True, null=True)),
                ("place", models.CharField(blank=True, db_default="", help_text="file, AWS KMS or Vault", max_length=20)),
            ],
        ),
        migrations.CreateModel(
            name="SignatureRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("data", models.BinaryField(null=True)),
                ("signature", models.BinaryField(null=True)),
                ("problem", models.CharField(blank=True, help_text="The code of the error, if it ended with one.", max_length=40)),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                ("key", models.ForeignKey(on_delete=models.CASCADE, related_name="+", to="signing.signingkey")),
                ("release_id", models.BigIntegerField(null=True)),
            ],
        ),
        migrations.RunPython(protect, release),
    ]
