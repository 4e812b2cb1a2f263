from django.db import migrations, models

STATES = [
    ("waiting", "Waiting"),
    ("sent", "Sent"),
    ("dropped", "Dropped"),
    ("failed", "Failed"),
    ("missed", "Missed"),
]


class Migration(migrations.Migration):
    dependencies = [("notify", "0006_lapses")]

    operations = [
        migrations.AddField(
            "letter",
            "button",
            models.CharField(
                blank=True,
                default="",
                db_default="",
                help_text="The act to which the link leads; empty if there is none.",
                max_length=40,
            ),
        ),
        migrations.AddField(
            "preference",
            "unconfirmed_address",
            models.EmailField(
                blank=True,
                default="",
                db_default="",
                help_text="Where the person wants mail, until they open the link that was sent there.",
                max_length=254,
            ),
        ),
        migrations.AlterField(
            "letter", "state", models.CharField(choices=STATES, default="waiting", max_length=7)
        ),
    ]
