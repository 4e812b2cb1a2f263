from django.db import migrations, models


class Migration(migrations.Migration):
    """Help texts in plain English. The database does not change."""

    dependencies = [
        ('providers', '0014_docs_about_packages'),
    ]

    operations = [
        migrations.AlterField(
            model_name='docsarchive',
            name='digest',
            field=models.CharField(help_text='SHA-256 of the file.', max_length=64),
        ),
        migrations.AlterField(
            model_name='docsarchive',
            name='size',
            field=models.BigIntegerField(help_text='Size in bytes.'),
        ),
        migrations.AlterField(
            model_name='docsarchive',
            name='staging_key',
            field=models.CharField(blank=True, help_text='Key in staging until a worker reads it.', max_length=80),
        ),
        migrations.AlterField(
            model_name='formersignature',
            name='digest',
            field=models.CharField(help_text='SHA-256 of the detached signature.', max_length=64),
        ),
        migrations.AlterField(
            model_name='package',
            name='digest',
            field=models.CharField(db_index=True, help_text='SHA-256 of the zip, also written as zh:.', max_length=64),
        ),
        migrations.AlterField(
            model_name='package',
            name='h1',
            field=models.CharField(help_text='h1: hash of the unpacked files.', max_length=50),
        ),
        migrations.AlterField(
            model_name='package',
            name='size',
            field=models.BigIntegerField(help_text='Size in bytes.'),
        ),
        migrations.AlterField(
            model_name='providerversion',
            name='signature_digest',
            field=models.CharField(db_index=True, help_text='SHA-256 of the detached signature.', max_length=64),
        ),
        migrations.AlterField(
            model_name='providerversion',
            name='sums_digest',
            field=models.CharField(db_index=True, help_text='SHA-256 of SHA256SUMS.', max_length=64),
        ),
    ]
