from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('releases', '0002_several_folders'),
    ]

    operations = [
        migrations.AlterField(
            model_name='cleanuprule',
            name='action',
            field=models.CharField(choices=[('deprecate', 'Deprecate: they stay listed and served, with a warning on pages and in clients'), ('yank', 'Yank: they are no longer listed; downloads of the exact version and pages still work')], default='deprecate', max_length=10),
        ),
        migrations.AlterField(
            model_name='cleanuprule',
            name='applied_at',
            field=models.DateTimeField(blank=True, help_text='Its last run, automatic or manual.', null=True),
        ),
        migrations.AlterField(
            model_name='cleanuprule',
            name='applied_count',
            field=models.PositiveIntegerField(default=0, help_text='The number of versions that it changed.'),
        ),
        migrations.AlterField(
            model_name='cleanuprule',
            name='enabled',
            field=models.BooleanField(default=False, help_text='Runs automatically, once an hour.'),
        ),
        migrations.AlterField(
            model_name='cleanuprule',
            name='fetched_days',
            field=models.PositiveIntegerField(default=90, help_text='A version downloaded within this many days stays.'),
        ),
        migrations.AlterField(
            model_name='cleanuprule',
            name='keep_newest',
            field=models.PositiveIntegerField(default=5, help_text='The number of newest versions of each module and provider that always stay.'),
        ),
        migrations.AlterField(
            model_name='cleanuprule',
            name='prerelease_days',
            field=models.PositiveIntegerField(blank=True, help_text='Includes pre-releases older than this. Empty: none.', null=True),
        ),
        migrations.AlterField(
            model_name='cleanuprule',
            name='stable_days',
            field=models.PositiveIntegerField(blank=True, help_text='Includes other versions older than this. Empty: none.', null=True),
        ),
        migrations.AlterField(
            model_name='release',
            name='lifecycle_replacement',
            field=models.CharField(blank=True, help_text='Replacement.', max_length=200),
        ),
        migrations.AlterField(
            model_name='upload',
            name='length',
            field=models.BigIntegerField(help_text='Total size in bytes.'),
        ),
    ]
