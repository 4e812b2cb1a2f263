from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("releases", "0013_fill_search_words")]

    operations = [
        migrations.AddField(
            model_name="release",
            name="breaking_reason",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Why it breaks something under this number.",
                max_length=500,
            ),
        ),
    ]
