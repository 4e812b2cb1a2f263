from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('upstream', '0004_weak_signatures'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='upstreamprovider',
            index=models.Index(condition=models.Q(('listed_at', None)), fields=['created_at'], name='upstream_never_listed'),
        ),
    ]
