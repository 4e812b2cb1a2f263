from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0021_trusted_publishers"),
    ]

    operations = [
        migrations.AddField(
            model_name="namespace",
            name="approval_needs_second_factor",
            field=models.BooleanField(
                db_default=False, default=False, help_text="Who approves enters a second factor again."
            ),
        ),
        migrations.AddField(
            model_name="namespace",
            name="requires_approval",
            field=models.BooleanField(
                db_default=False, default=False, help_text="Someone other than its author approves each release."
            ),
        ),
    ]
