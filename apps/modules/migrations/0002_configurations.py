import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("modules", "0001_squashed_0017_health"),
        ("releases", "0002_several_folders"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Configuration",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("repository", models.CharField(max_length=300)),
                (
                    "folder",
                    models.CharField(blank=True, help_text="Empty: the root of the repository.", max_length=300),
                ),
                ("reported_at", models.DateTimeField()),
                (
                    "reporter",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="configurations",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ConfigurationUse",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "constraint",
                    models.CharField(blank=True, help_text="Of a provider: the lock file says it.", max_length=200),
                ),
                (
                    "configuration",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="uses", to="modules.configuration"
                    ),
                ),
                (
                    "release",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="releases.release"
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="configuration",
            index=models.Index(fields=["reported_at"], name="modules_configurations_by_age"),
        ),
        migrations.AddConstraint(
            model_name="configuration",
            constraint=models.UniqueConstraint(
                fields=("reporter", "repository", "folder"), name="modules_configuration_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="configurationuse",
            constraint=models.UniqueConstraint(
                fields=("configuration", "release"), name="modules_configuration_use_once"
            ),
        ),
    ]
