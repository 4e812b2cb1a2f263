
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0027_lists_of_staff'),
        ('modules', '0002_configurations'),
        ('releases', '0011_lists_of_staff'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='module',
            index=models.Index(fields=['canonical'], name='modules_by_canonical'),
        ),
        migrations.AddIndex(
            model_name='moduleversion',
            index=models.Index(condition=models.Q(('is_prerelease', True)), fields=['module'], name='modules_prereleases'),
        ),
    ]
