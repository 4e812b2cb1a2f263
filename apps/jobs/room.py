from celery.schedules import crontab
from django.conf import settings

from apps.room import Room


class Jobs(Room):
    name = "apps.jobs"

    periodic_tasks = {
        "reap": {"task": "jobs.reap", "schedule": settings.REAPER_INTERVAL},
        "prune-jobs": {"task": "jobs.prune", "schedule": crontab(hour=2, minute=27)},
    }

    def connect(self) -> None:
        from apps.jobs import database_availability
        from apps.lib.process import outside

        # What a thread gives back before it waits for another service.
        outside.give_back = database_availability.release_connection
