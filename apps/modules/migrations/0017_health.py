from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('modules', '0016_fill_provider_requirements'),
    ]

    operations = [
        migrations.AddField(
            model_name='moduleversion',
            name='health',
            field=models.JSONField(blank=True, help_text='{rules, missing}: see modules.health. Null: not stored.', null=True),
        ),
    ]
