from django.db import migrations, models


class Migration(migrations.Migration):
    """Help texts in plain English. The database does not change."""

    dependencies = [
        ('blobs', '0006_lists_of_staff'),
    ]

    operations = [
        migrations.AlterField(
            model_name='blob',
            name='checked_at',
            field=models.DateTimeField(blank=True, help_text='When its bytes were last verified.', null=True),
        ),
        migrations.AlterField(
            model_name='blob',
            name='deleting_until',
            field=models.DateTimeField(blank=True, db_column='leaving_until', help_text='One process may delete it until this time.', null=True),
        ),
        migrations.AlterField(
            model_name='blob',
            name='problem',
            field=models.CharField(blank=True, choices=[('', 'none'), ('missing', 'Missing'), ('damaged', 'Damaged')], default='', help_text='Result of that verification.', max_length=8),
        ),
        migrations.AlterField(
            model_name='blob',
            name='sha512',
            field=models.CharField(blank=True, help_text='Set for blobs that were pushed over OCI.', max_length=128, null=True, unique=True),
        ),
        migrations.AlterField(
            model_name='blob',
            name='size',
            field=models.BigIntegerField(help_text='Size in bytes.'),
        ),
        migrations.AlterField(
            model_name='run',
            name='good_at',
            field=models.DateTimeField(help_text='When the check last succeeded.', null=True),
        ),
    ]
