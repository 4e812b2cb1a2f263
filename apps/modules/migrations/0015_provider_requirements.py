import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('modules', '0014_searched_by_index'),
    ]

    operations = [
        migrations.CreateModel(
            name='ProviderRequirement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('unit', models.CharField(blank=True, help_text='The folder that says so. Empty: the root.', max_length=300)),
                ('constraint', models.CharField(blank=True, max_length=200)),
                ('target_namespace', models.CharField(help_text='In lower case, with - for _, as clients send it.', max_length=64)),
                ('target_type', models.CharField(max_length=63)),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='provider_requirements', to='modules.moduleversion')),
            ],
            options={
                'indexes': [models.Index(fields=['target_namespace', 'target_type'], name='modules_needs_by_target')],
            },
        ),
    ]
