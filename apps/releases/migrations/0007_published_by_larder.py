from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("releases", "0006_origin"),
    ]

    operations = [
        migrations.AlterField(
            model_name="origin",
            name="way",
            field=models.CharField(
                choices=[("page", "Browser"), ("api", "API"), ("oci", "OCI push"), ("command", "Larder itself")],
                max_length=8,
            ),
        ),
    ]
