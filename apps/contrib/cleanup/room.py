from celery.schedules import crontab

from apps.room import Described, MenuEntry, Room


class Cleanup(Room):
    name = "apps.contrib.cleanup"
    verbose_name = "Cleanup"

    api_urls = ("apps.contrib.cleanup.api.rule",)
    portal_urls = ("apps.contrib.cleanup.pages",)
    namespace_menu = (
        MenuEntry(
            "Cleanup",
            "portal:namespace-cleanup",
            icon="history",
            key="cleanup",
            tab="settings",
            before="transfer",
            for_owners=True,
            words="old versions rule",
        ),
    )
    help_topics = {"cleanup": "cleanup"}
    described = (Described("cleanup", {"": "cleanup"}, "apps.contrib.cleanup.api.rule.described", within="namespaces"),)

    periodic_tasks = {"clean-up-versions": {"task": "releases.clean_up", "schedule": crontab(minute=47)}}
