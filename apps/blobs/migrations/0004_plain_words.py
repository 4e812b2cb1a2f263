from django.db import migrations, models


class Migration(migrations.Migration):
    """Labels and texts alone: the column and the stored values stay, so no table changes."""

    dependencies = [
        ('blobs', '0003_oci'),
    ]

    operations = [
        migrations.AlterField(
            model_name='blob',
            name='leaving_until',
            field=models.DateTimeField(blank=True, db_column='leaving_until', help_text='Until then only one process deletes it.', null=True),
        ),
        migrations.RenameField(
            model_name='blob',
            old_name='leaving_until',
            new_name='deleting_until',
        ),
        migrations.AlterField(
            model_name='blob',
            name='checked_at',
            field=models.DateTimeField(blank=True, help_text='When it was last read again.', null=True),
        ),
        migrations.AlterField(
            model_name='blob',
            name='problem',
            field=models.CharField(blank=True, choices=[('', 'none'), ('missing', 'Missing'), ('damaged', 'Damaged')], default='', help_text='What was found then.', max_length=8),
        ),
        migrations.AlterField(
            model_name='blob',
            name='sha512',
            field=models.CharField(blank=True, help_text='Known for bytes pushed over OCI.', max_length=128, null=True, unique=True),
        ),
        migrations.AlterField(
            model_name='blob',
            name='state',
            field=models.CharField(choices=[('claimed', 'Pending'), ('ready', 'Ready'), ('leaving', 'Deleting')], default='claimed', max_length=8),
        ),
    ]
