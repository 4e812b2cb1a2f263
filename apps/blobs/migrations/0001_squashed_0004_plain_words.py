from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("blobs", "0001_initial"), ("blobs", "0002_leaving"), ("blobs", "0003_oci"), ("blobs", "0004_plain_words"),
    ]

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Blob",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(help_text="sha256, 64 lower-case hex digits", max_length=64, unique=True)),
                ("size", models.BigIntegerField(help_text="bytes")),
                ("state", models.CharField(choices=[("claimed", "Pending"), ("ready", "Ready"), ("leaving", "Deleting")], default="claimed", max_length=8)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("sha512", models.CharField(blank=True, help_text="Known for bytes pushed over OCI.", max_length=128, null=True, unique=True)),
                ("deleting_until", models.DateTimeField(blank=True, db_column="leaving_until", help_text="Until then only one process deletes it.", null=True)),
                ("checked_at", models.DateTimeField(blank=True, help_text="When it was last read again.", null=True)),
                ("problem", models.CharField(blank=True, choices=[("", "none"), ("missing", "Missing"), ("damaged", "Damaged")], default="", help_text="What was found then.", max_length=8)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["created_at"], name="blobs_by_day"),
                    models.Index(fields=["checked_at", "id"], name="blobs_by_check"),
                    models.Index(condition=~models.Q(problem=""), fields=["problem"], name="blobs_with_problem"),
                ],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(digest__regex="^[0-9a-f]{64}$"), name="blobs_digest_is_sha256"),
                    models.CheckConstraint(condition=models.Q(size__gte=0), name="blobs_size_not_negative"),
                ],
            },
        ),
    ]
