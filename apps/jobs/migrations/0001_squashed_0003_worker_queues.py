from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("jobs", "0001_initial"), ("jobs", "0002_plain_words"), ("jobs", "0003_worker_queues"),
    ]

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("worker", models.CharField(max_length=120, unique=True)),
                ("at", models.DateTimeField()),
                ("queues", models.CharField(db_default="check sign", help_text="What it works on.", max_length=60)),
            ],
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(help_text="The name of its Celery task.", max_length=40)),
                ("target", models.BigIntegerField(help_text="Primary key of the object it works on.")),
                ("state", models.CharField(choices=[("queued", "Queued"), ("running", "Running"), ("succeeded", "Succeeded"), ("failed", "Failed"), ("cancelled", "Cancelled")], default="queued", max_length=10)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("fence", models.PositiveIntegerField(default=0)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("not_before", models.DateTimeField(blank=True, null=True)),
                ("rung_at", models.DateTimeField(blank=True, null=True)),
                ("worker", models.CharField(blank=True, help_text="host:pid of the last worker that claimed it.", max_length=120)),
                ("error", models.TextField(blank=True)),
                ("request_id", models.CharField(blank=True, max_length=64)),
                ("created_by_id", models.BigIntegerField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "permissions": [
                    ("retry_job", "Can retry a job"),
                    ("cancel_job", "Can cancel a job"),
                ],
                "indexes": [
                    models.Index(fields=["state", "lease_until"], name="jobs_by_lease"),
                    models.Index(fields=["-created_at"], name="jobs_newest"),
                    models.Index(models.F("kind"), models.F("target"), name="jobs_by_target"),
                ],
                "constraints": [models.UniqueConstraint(condition=models.Q(state__in=["queued", "running"]), fields=("kind", "target"), name="jobs_one_at_a_time")],
            },
        ),
    ]
