from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0005_by_request")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="source",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="What created it in bulk, such as git 12. Empty: a person or a hook waits for it.",
                max_length=40,
            ),
        ),
        migrations.AddField(
            model_name="job",
            name="share",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="Who takes turns, such as namespace 7.", max_length=40
            ),
        ),
        migrations.AddField(
            model_name="job",
            name="turn",
            field=models.BigIntegerField(db_default=0, default=0, help_text="The lower one goes first."),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("finished_at", None), ("rung_at__isnull", False)),
                fields=["kind", "turn"],
                name="jobs_rung",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("finished_at", None), ("rung_at", None)), fields=["source"], name="jobs_behind"
            ),
        ),
    ]
