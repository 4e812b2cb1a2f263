from celery.schedules import crontab

from apps.room import Room


class Notify(Room):
    name = "apps.notify"

    periodic_tasks = {
        "notify": {"task": "notify.run", "schedule": 5.0},
        "notify-daily": {"task": "notify.daily", "schedule": crontab(hour=7, minute=7)},
        "prune-notifications": {"task": "notify.prune", "schedule": crontab(hour=2, minute=47)},
    }
    sealed_columns = ("mail.letters.SEALED",)
    channels = ("mail.mailing.CHANNEL",)

    def connect(self) -> None:
        from apps.audit import recorder
        from apps.notify import outbox

        # Who is told of an event.
        recorder.outbox = outbox.add
