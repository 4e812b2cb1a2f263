from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0001_squashed_0018_created_by_token'),
    ]

    operations = [
        migrations.AlterField(
            model_name='namespace',
            name='breaking_changes',
            field=models.CharField(choices=[('silent', 'Silent: show no warning'), ('warn', "Warn: show a warning on the release's page"), ('ask', 'Ask: hold the release until its publisher gives a reason'), ('refuse', 'Refuse: allow them only in major versions')], db_default='warn', default='warn', help_text='For breaking changes outside a major version.', max_length=6),
        ),
    ]
