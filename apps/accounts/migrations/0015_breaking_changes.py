from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0014_leaks")]

    operations = [
        migrations.AddField(
            model_name="namespace",
            name="breaking_changes",
            field=models.CharField(
                choices=[
                    ("silent", "Silent: say nothing"),
                    ("warn", "Warn: say so on the release's page"),
                    ("ask", "Ask: hold the release until its publisher gives a reason"),
                    ("refuse", "Refuse: publish it only under a number that says so"),
                ],
                db_default="warn",
                default="warn",
                help_text="Of a version whose number does not say that something breaks.",
                max_length=6,
            ),
        ),
    ]
