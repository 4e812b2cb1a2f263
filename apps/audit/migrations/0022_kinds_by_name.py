import apps.audit.kinds
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0021_mail'),
    ]

    operations = [
        migrations.AlterField(
            model_name='auditevent',
            name='kind',
            field=models.CharField(choices=apps.audit.kinds.choices, max_length=64),
        ),
    ]
