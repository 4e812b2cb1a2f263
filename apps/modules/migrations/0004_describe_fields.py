from django.db import migrations, models


class Migration(migrations.Migration):
    """Help texts in plain English. The database does not change."""

    dependencies = [
        ('modules', '0003_lists_of_staff'),
    ]

    operations = [
        migrations.AlterField(
            model_name='configurationuse',
            name='constraint',
            field=models.CharField(blank=True, help_text='Recorded in the lock file. Providers only.', max_length=200),
        ),
        migrations.AlterField(
            model_name='module',
            name='canonical',
            field=models.CharField(editable=False, help_text='name/system in lower case, with - for _.', max_length=130),
        ),
        migrations.AlterField(
            model_name='module',
            name='description',
            field=models.CharField(blank=True, help_text='Shown in lists. Empty: the first words of the README.', max_length=300),
        ),
        migrations.AlterField(
            model_name='moduleversion',
            name='health',
            field=models.JSONField(blank=True, help_text='Result of the health rules. null: not stored.', null=True),
        ),
        migrations.AlterField(
            model_name='moduleversion',
            name='inspector',
            field=models.CharField(blank=True, help_text='Version of the inspection rules. A newer one inspects again.', max_length=20),
        ),
        migrations.AlterField(
            model_name='moduleversion',
            name='readme_renderer',
            field=models.CharField(blank=True, help_text='Version of the renderer. A newer one renders again.', max_length=20),
        ),
        migrations.AlterField(
            model_name='moduleversion',
            name='readmes',
            field=models.JSONField(help_text='Markdown by folder, with an empty folder for the root. null: inspected by an older Larder.', null=True),
        ),
        migrations.AlterField(
            model_name='providerrequirement',
            name='target_namespace',
            field=models.CharField(help_text='In lower case with - for _, as clients send it.', max_length=64),
        ),
        migrations.AlterField(
            model_name='providerrequirement',
            name='unit',
            field=models.CharField(blank=True, help_text='Folder that declares it. Empty: the root.', max_length=300),
        ),
    ]
