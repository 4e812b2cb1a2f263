from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sources", "0006_pushes")]

    operations = [
        migrations.AddField(
            model_name="tag",
            name="precedence",
            field=models.PositiveSmallIntegerField(
                choices=[
                    (0, "It was just pushed, or asked for"),
                    (1, "The newest version of its module in an import"),
                    (2, "The rest of an import"),
                ],
                db_default=2,
                default=2,
            ),
        ),
    ]
