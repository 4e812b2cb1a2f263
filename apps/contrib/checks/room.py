from celery.schedules import crontab

from apps.room import Described, MenuEntry, Room, VersionTab


class Checks(Room):
    name = "apps.contrib.checks"
    label = "checks"
    verbose_name = "Checks"

    api_urls = ("apps.contrib.checks.api.reports", "apps.contrib.checks.api.requiring")
    portal_urls = ("apps.contrib.checks.pages",)
    namespace_menu = (
        MenuEntry(
            "Required checks",
            "portal:namespace-checks",
            icon="shield-check",
            key="checks",
            tab="publishing",
            words="policy scanner require tests gate",
        ),
    )
    version_tabs = (
        VersionTab("checks", "Checks", "portal/checks/tab.html", "pages.checks_tab", "pages.count_of_checks"),
    )
    page_sections = {
        "release": (("portal/checks/waiting.html", "pages.waiting_section"),),
        "comparison": (("portal/checks/comparison.html", "pages.comparison_section"),),
    }
    described = (
        Described(
            "checks", {"": "namespace-checks"}, "apps.contrib.checks.api.requiring.described", within="namespaces"
        ),
    )
    help_topics = {"checks": "checks", "checks-policy": "checks#require-checks"}

    periodic_tasks = {
        "sweep-checks": {"task": "checks.sweep", "schedule": 60.0},
        "prune-checks": {"task": "checks.prune", "schedule": crontab(hour=3, minute=22)},
    }
    events = ("events.EVENTS",)
    attention = ("attention.WAITING", "attention.FINDINGS")

    after_publication = ("sending.published",)
    purges = ("sending.drop",)
    namespace_endings = ("sending.end_all",)
    stored_bytes = ("sending.stored_bytes",)
    publication_conditions = ("holding.waits",)
    release_marks = ("wording.marks",)
    attachment_readers = ("attached.REPORTS",)
    search_facets = ("wording.FACET",)
