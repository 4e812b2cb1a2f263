
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0027_lists_of_staff"),
        ("releases", "0010_of_upload"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="searchdoc",
            index=models.Index(
                condition=models.Q(("lifecycle", "maintained"), _negated=True),
                fields=["lifecycle"],
                name="releases_docs_discouraged",
            ),
        ),
        migrations.AddIndex(
            model_name="searchdoc",
            index=models.Index(
                condition=models.Q(("is_prerelease", True)), fields=["kind"], name="releases_docs_prereleases"
            ),
        ),
    ]
