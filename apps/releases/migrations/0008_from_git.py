from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('releases', '0007_published_by_larder'),
    ]

    operations = [
        migrations.AddField(
            model_name='origin',
            name='links',
            field=models.JSONField(blank=True, db_default={}, default=dict, help_text='Pages of facts, where Larder fetched them from Git.'),
        ),
        migrations.AlterField(
            model_name='origin',
            name='way',
            field=models.CharField(choices=[('page', 'Browser'), ('api', 'API'), ('oci', 'OCI push'), ('command', 'Larder itself'), ('git', 'Git')], max_length=8),
        ),
    ]
