from django.db import migrations, models


class Migration(migrations.Migration):
    """Help texts in plain English. The database does not change."""

    dependencies = [
        ('provenance', '0004_lists_of_staff'),
    ]

    operations = [
        migrations.AlterField(
            model_name='attestation',
            name='digest',
            field=models.CharField(help_text='SHA-256 of the content.', max_length=64),
        ),
        migrations.AlterField(
            model_name='attestation',
            name='is_pushed',
            field=models.BooleanField(default=False, help_text='Attached over OCI, for example with oras attach.'),
        ),
        migrations.AlterField(
            model_name='attestation',
            name='signed_by',
            field=models.CharField(blank=True, help_text='Signer that it names: a key id or an identity. Not verified.', max_length=300),
        ),
        migrations.AlterField(
            model_name='attestation',
            name='size',
            field=models.PositiveIntegerField(help_text='Size in bytes.'),
        ),
        migrations.AlterField(
            model_name='attestation',
            name='subjects',
            field=models.JSONField(help_text='SHA-256 digests of this release that it names, 64 hex digits each.'),
        ),
        migrations.AlterField(
            model_name='referrer',
            name='size',
            field=models.PositiveIntegerField(help_text='Size in bytes.'),
        ),
        migrations.AlterField(
            model_name='referrer',
            name='subject_size',
            field=models.PositiveIntegerField(help_text='Size in bytes.'),
        ),
        migrations.AlterField(
            model_name='referrer',
            name='subject_type',
            field=models.CharField(help_text='Media type of the manifest.', max_length=255),
        ),
        migrations.AlterField(
            model_name='statement',
            name='digest',
            field=models.CharField(help_text='SHA-256 of the envelope.', max_length=64, unique=True),
        ),
        migrations.AlterField(
            model_name='statement',
            name='envelope',
            field=models.BinaryField(help_text='DSSE envelope as served to clients.'),
        ),
        migrations.AlterField(
            model_name='statement',
            name='size',
            field=models.PositiveIntegerField(help_text='Size in bytes.'),
        ),
    ]
