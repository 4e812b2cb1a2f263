from celery.schedules import crontab

from apps.room import Room


class Blobs(Room):
    name = "apps.blobs"

    periodic_tasks = {
        "sweep-storage": {"task": "blobs.sweep", "schedule": 3600.0},
        # By the clock, so that restarts do not postpone it.
        "scrub-storage": {"task": "blobs.scrub", "schedule": crontab(hour=3, minute=17)},
        "recheck-storage": {"task": "blobs.recheck", "schedule": 600.0},
    }
    # The list of damaged digests, for use during a database outage (D6).
    starts = ("care.integrity.start",)
