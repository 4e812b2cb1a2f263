import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """Help texts in plain English. The database does not change."""

    dependencies = [
        ('oci', '0005_lists_of_staff'),
    ]

    operations = [
        migrations.AlterField(
            model_name='collection',
            name='is_complete',
            field=models.BooleanField(default=True, help_text='Cleared if the run ran out of time or storage failed. The next run continues.', verbose_name='complete'),
        ),
        migrations.AlterField(
            model_name='collection',
            name='uploads',
            field=models.PositiveIntegerField(default=0, help_text='Expired uploads that were removed.'),
        ),
        migrations.AlterField(
            model_name='manifest',
            name='artifact_type',
            field=models.CharField(blank=True, help_text='The artifact type of the manifest, or the media type of its config.', max_length=255),
        ),
        migrations.AlterField(
            model_name='manifest',
            name='digest',
            field=models.CharField(help_text='sha256:… or sha512:…, as clients address it.', max_length=135),
        ),
        migrations.AlterField(
            model_name='manifest',
            name='seen_at',
            field=models.DateTimeField(default=django.utils.timezone.now, help_text='When it was last pushed or last lost a tag.'),
        ),
        migrations.AlterField(
            model_name='manifest',
            name='size',
            field=models.PositiveIntegerField(help_text='Size in bytes.'),
        ),
        migrations.AlterField(
            model_name='repositoryblob',
            name='seen_at',
            field=models.DateTimeField(default=django.utils.timezone.now, help_text='When a publisher was last notified that it exists.'),
        ),
        migrations.AlterField(
            model_name='uploadsession',
            name='lease',
            field=models.UUIDField(blank=True, help_text='The request that currently sends bytes.', null=True),
        ),
    ]
