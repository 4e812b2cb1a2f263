import django.db.models.deletion
from django.db import migrations, models

COUNT = """
INSERT INTO upstream_storedsum (upstream_id, packages, bytes)
SELECT upstream_id, SUM(packages), SUM(size)
FROM (
    SELECT provider.upstream_id, package.blob_id, COUNT(*) AS packages, MAX(blob.size) AS size
    FROM upstream_upstreampackage AS package
    JOIN upstream_upstreamversion AS version ON version.id = package.version_id
    JOIN upstream_upstreamprovider AS provider ON provider.id = version.provider_id
    JOIN blobs_blob AS blob ON blob.id = package.blob_id
    GROUP BY provider.upstream_id, package.blob_id
) AS stored
GROUP BY upstream_id
"""


class Migration(migrations.Migration):
    dependencies = [
        ("upstream", "0002_exceptions_of_modules"),
    ]

    operations = [
        migrations.CreateModel(
            name="StoredSum",
            fields=[
                (
                    "upstream",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="stored_sum",
                        serialize=False,
                        to="upstream.upstream",
                    ),
                ),
                ("packages", models.BigIntegerField(default=0)),
                ("bytes", models.BigIntegerField(default=0, help_text="The same bytes count once.")),
            ],
        ),
        # What an older version stores meanwhile, the nightly count finds.
        migrations.RunSQL(COUNT, migrations.RunSQL.noop),
        # For the filters of staff, which look for few rows.
        migrations.AddIndex("syncrun", models.Index(fields=["state"], name="upstream_syncs_by_state")),
        migrations.AddIndex(
            "upstreampackage",
            models.Index(fields=["version"], condition=models.Q(is_pinned=True), name="upstream_pinned"),
        ),
        migrations.AddIndex("upstreamversion", models.Index(fields=["verdict"], name="upstream_by_verdict")),
        migrations.AddIndex(
            "upstreamversion",
            models.Index(fields=["provider"], condition=models.Q(is_listed=False), name="upstream_unlisted"),
        ),
    ]
