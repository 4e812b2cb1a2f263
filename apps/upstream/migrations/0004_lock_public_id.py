import uuid

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("upstream", "0003_ops_search")]

    operations = [
        migrations.AddField(
            model_name="lockrun",
            name="public_id",
            field=models.UUIDField(default=uuid.uuid4, editable=False, unique=True),
        ),
    ]
