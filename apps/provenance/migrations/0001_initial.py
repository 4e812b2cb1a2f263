import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("releases", "0005_origins_and_approvals"),
        ("signing", "0009_statement_keys"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Statement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("envelope", models.BinaryField(help_text="DSSE, as it is served.")),
                ("digest", models.CharField(help_text="sha256 of the envelope", max_length=64, unique=True)),
                ("size", models.PositiveIntegerField(help_text="bytes")),
                (
                    "manifest_digest",
                    models.CharField(
                        blank=True,
                        db_index=True,
                        help_text="sha256:… of the manifest by which OCI clients find it.",
                        max_length=71,
                    ),
                ),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                (
                    "key",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="statements",
                        to="signing.statementkey",
                    ),
                ),
                (
                    "release",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="statement", to="releases.release"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Attestation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "form",
                    models.CharField(choices=[("dsse", "DSSE envelope"), ("bundle", "Sigstore bundle")], max_length=6),
                ),
                ("media_type", models.CharField(max_length=120)),
                ("predicate_type", models.CharField(blank=True, max_length=200)),
                (
                    "subjects",
                    models.JSONField(
                        help_text="The sha256 digests that it names and this release has, 64 hex digits each."
                    ),
                ),
                (
                    "signed_by",
                    models.CharField(
                        blank=True,
                        help_text="The signer that it names: a key id or an identity. Not verified.",
                        max_length=300,
                    ),
                ),
                ("content", models.BinaryField()),
                ("digest", models.CharField(help_text="sha256 of the content", max_length=64)),
                ("size", models.PositiveIntegerField(help_text="bytes")),
                ("manifest_digest", models.CharField(db_index=True, help_text="sha256:…", max_length=71)),
                ("is_pushed", models.BooleanField(default=False, help_text="`oras attach` brought it.")),
                ("token_id", models.BigIntegerField(blank=True, null=True)),
                ("added_at", models.DateTimeField(auto_now_add=True, db_index=True)),
                (
                    "added_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "release",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="attestations", to="releases.release"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("release", "digest"), name="provenance_attestation_once"),
                    models.CheckConstraint(
                        condition=models.Q(("digest__regex", "^[0-9a-f]{64}$")), name="provenance_attestation_digest"
                    ),
                ],
            },
        ),
    ]
