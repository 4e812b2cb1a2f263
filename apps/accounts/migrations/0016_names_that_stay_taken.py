from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0015_breaking_changes")]

    operations = [
        migrations.CreateModel(
            name="DeletedTeam",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=63, unique=True)),
                ("deleted_at", models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name="namespace",
            name="skeleton",
            field=models.CharField(blank=True, db_default="", default="", editable=False, max_length=64),
        ),
        migrations.AddIndex(
            model_name="namespace",
            index=models.Index(fields=["skeleton"], name="accounts_namespaces_by_look"),
        ),
    ]
