from celery.schedules import crontab

from apps.room import Room


class Audit(Room):
    name = "apps.audit"

    periodic_tasks = {
        "link-audit": {"task": "audit.link", "schedule": 60.0},
        "record-audit-head": {"task": "audit.record_head", "schedule": crontab(minute=57)},
        "add-audit-months": {"task": "audit.add_months", "schedule": crontab(hour=1, minute=47)},
        "prune-audit": {"task": "audit.prune", "schedule": crontab(hour=2, minute=17)},
    }
