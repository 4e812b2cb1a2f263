from typing import Any

from django.db import migrations
from django.db.models import Max

BATCH = 500
# The skeleton of the time.
PAIRS = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("c1", "d"))
LETTERS = str.maketrans("012345789inq", "olzeastbglmg")


def skeleton(name: str) -> str:
    folded = name.lower().replace("-", "").replace("_", "")
    for pair, letter in PAIRS:
        folded = folded.replace(pair, letter)
    return folded.translate(LETTERS)


def fill_skeletons(apps: Any, _schema_editor: Any) -> None:
    """Deleted namespaces too. Names that look alike already remain."""
    rows = apps.get_model("accounts", "Namespace")._base_manager
    while batch := list(rows.filter(skeleton="").order_by("pk")[:BATCH]):
        for row in batch:
            row.skeleton = skeleton(row.name)
        rows.bulk_update(batch, ["skeleton"])


def fill_deleted_teams(apps: Any, _schema_editor: Any) -> None:
    """The audit log names the teams that were deleted, as far back as it goes."""
    events = apps.get_model("audit", "AuditEvent").objects.filter(kind="team:team:deleted", subject__startswith="team/")
    deleted = events.values_list("subject").annotate(at=Max("at")).order_by("subject")
    taken = apps.get_model("accounts", "DeletedTeam")
    there = set(taken.objects.values_list("name", flat=True))
    names = ((subject.removeprefix("team/")[:63], at) for subject, at in deleted)
    rows = [taken(name=name, deleted_at=at) for name, at in names if name not in there]
    taken.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0016_names_that_stay_taken"), ("audit", "0022_kinds_by_name")]

    operations = [
        migrations.RunPython(fill_skeletons, migrations.RunPython.noop),
        migrations.RunPython(fill_deleted_teams, migrations.RunPython.noop),
    ]
