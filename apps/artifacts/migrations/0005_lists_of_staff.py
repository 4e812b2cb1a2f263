
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0027_lists_of_staff"),
        ("oci", "0004_searches"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddIndex(
            model_name="collection",
            index=models.Index(
                condition=models.Q(("is_complete", False)), fields=["begun_at"], name="oci_collections_incomplete"
            ),
        ),
        migrations.AddIndex(
            model_name="manifest",
            index=models.Index(
                condition=models.Q(("subject", ""), _negated=True),
                fields=["repository"],
                name="oci_manifests_with_subject",
            ),
        ),
        migrations.AddIndex(
            model_name="repository",
            index=models.Index(fields=["path"], name="oci_repositories_by_path", opclasses=["varchar_pattern_ops"]),
        ),
    ]
