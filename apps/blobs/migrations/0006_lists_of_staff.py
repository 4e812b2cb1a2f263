
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("blobs", "0005_runs"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="blob",
            index=models.Index(
                condition=models.Q(("state", "ready"), _negated=True), fields=["state"], name="blobs_not_ready"
            ),
        ),
    ]
