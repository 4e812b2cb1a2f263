import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("signing", "0001_squashed_0008_created_by_token"),
    ]

    operations = [
        migrations.CreateModel(
            name="StatementKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key_id",
                    models.CharField(
                        help_text="sha256 of the public key in DER, 64 hex digits", max_length=64, unique=True
                    ),
                ),
                ("public_key", models.TextField(help_text="PEM")),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                (
                    "retired_at",
                    models.DateTimeField(blank=True, help_text="Since then it signs nothing new.", null=True),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.Value(1), condition=models.Q(("retired_at", None)), name="signing_one_statement_key"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PrivateStatementKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("nonce", models.BinaryField(max_length=12)),
                ("ciphertext", models.BinaryField()),
                ("kek_id", models.CharField(help_text="As of a private key.", max_length=16)),
                ("wrapped_key", models.BinaryField(null=True)),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                (
                    "key",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="private_key",
                        to="signing.statementkey",
                    ),
                ),
            ],
        ),
    ]
