from celery.schedules import crontab

from apps.room import MenuEntry, Room


class Traffic(Room):
    name = "apps.contrib.traffic"
    verbose_name = "Traffic"

    portal_urls = ("apps.contrib.traffic.pages",)
    staff_menu = (
        MenuEntry(
            "Traffic",
            "portal:traffic",
            "download",
            permission="traffic.view_accounttraffic",
            words="downloads bytes usage teams accounts tokens month csv report",
        ),
    )
    help_topics = {"traffic": "operations/monitoring#traffic"}
    download_writers = ("recording.write",)
    periodic_tasks = {"prune-traffic": {"task": "traffic.prune", "schedule": crontab(hour=3, minute=52)}}
