from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sources", "0007_precedence")]

    operations = [
        migrations.AddField(
            model_name="gitrepository",
            name="leaves_out_submodules",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
