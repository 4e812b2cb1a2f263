from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0001_squashed_0003_worker_queues")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="lapses",
            field=models.PositiveIntegerField(
                db_default=0,
                default=0,
                help_text="How often a worker was lost while it worked on it: no attempt.",
            ),
        ),
    ]
