from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("releases", "0001_squashed_0014_breaking_reason")]

    operations = [
        migrations.AlterField(
            model_name="release",
            name="folder",
            field=models.CharField(blank=True, help_text="Publish these folders, one per line, not all.", max_length=4_000),
        ),
    ]
