from celery.schedules import crontab
from django.conf import settings

from apps.contrib.demo import RESET_HOUR, RESET_MINUTE
from apps.room import Room


class Demo(Room):
    name = "apps.contrib.demo"
    verbose_name = "Demonstration"

    demonstrates = True
    middleware = ("pages.ReadOnly",)
    notices = ("notice.sentence",)
    start_checks = ("foreign.refuse",)

    def connect(self) -> None:
        if settings.DEMO == "on":  # no other Larder need wake up for this
            self.periodic_tasks = {
                "fill-demonstration": {"task": "demo.fill", "schedule": 5.0},
                "reset-demonstration": {
                    "task": "demo.reset",
                    "schedule": crontab(hour=RESET_HOUR, minute=RESET_MINUTE),
                },
            }
