from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("releases", "0005_origins_and_approvals"),
    ]

    operations = [
        migrations.AddField(
            model_name="origin",
            name="others",
            field=models.JSONField(
                blank=True, db_default=[], default=list, help_text="by, way, token_label and facts of each."
            ),
        ),
    ]
