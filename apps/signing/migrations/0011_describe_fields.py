from django.db import migrations, models


class Migration(migrations.Migration):
    """Help texts in plain English. The database does not change."""

    dependencies = [
        ('signing', '0010_statement_roles'),
    ]

    operations = [
        migrations.AlterField(
            model_name='privatekey',
            name='wrapped_key',
            field=models.BinaryField(help_text='Key of this row, wrapped by the key service.', null=True),
        ),
        migrations.AlterField(
            model_name='privatestatementkey',
            name='kek_id',
            field=models.CharField(help_text='Same meaning as on a private key.', max_length=16),
        ),
        migrations.AlterField(
            model_name='signingkey',
            name='source',
            field=models.CharField(blank=True, help_text='Owner of the key. Clients may show it.', max_length=100),
        ),
        migrations.AlterField(
            model_name='statementkey',
            name='key_id',
            field=models.CharField(help_text='SHA-256 of the public key in DER, 64 hex digits.', max_length=64, unique=True),
        ),
        migrations.AlterField(
            model_name='statementkey',
            name='retired_at',
            field=models.DateTimeField(blank=True, help_text='When it stopped signing new statements.', null=True),
        ),
    ]
