from django.db import migrations, models


class Migration(migrations.Migration):
    """Indexes for the newest releases of one namespace, which its page and its list in the API show."""

    dependencies = [
        ('releases', '0013_describe_fields'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='release',
            index=models.Index(fields=['namespace', '-published_at'], name='releases_newly_published_there'),
        ),
        migrations.AddIndex(
            model_name='release',
            index=models.Index(fields=['namespace', '-created_at'], name='releases_latest_there'),
        ),
    ]
