from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("copy", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="CountedLog",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("first_line", models.CharField(help_text="SHA-256; it has the id of a request.", max_length=64, unique=True)),
                ("position", models.BigIntegerField(default=0, help_text="In bytes, without compression.")),
                ("counted_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
    ]
