from django.db import migrations, models


class Migration(migrations.Migration):
    """Help texts in plain English. The database does not change."""

    dependencies = [
        ('audit', '0001_squashed_0023_append_only'),
    ]

    operations = [
        migrations.AlterField(
            model_name='auditevent',
            name='address',
            field=models.CharField(blank=True, db_default='', help_text='IP address of the client. Empty for Larder itself.', max_length=45),
        ),
        migrations.AlterField(
            model_name='auditevent',
            name='namespace',
            field=models.CharField(blank=True, db_default='', help_text='Canonical name of the namespace that it is about, if any.', max_length=64),
        ),
        migrations.AlterField(
            model_name='link',
            name='at',
            field=models.DateTimeField(help_text='When the event happened.'),
        ),
        migrations.AlterField(
            model_name='link',
            name='previous',
            field=models.CharField(help_text='Digest of the previous link.', max_length=64, unique=True),
        ),
    ]
