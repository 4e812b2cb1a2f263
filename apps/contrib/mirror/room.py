from celery.schedules import crontab

from apps.room import Described, MenuEntry, Part, Room


class Mirror(Room):
    name = "apps.contrib.mirror"
    label = "upstream"  # of tables, permissions and applied migrations: it is older than the room's name
    verbose_name = "Mirror"

    settings = {"UPSTREAM": "settings_values.read"}
    api_urls = ("apps.contrib.mirror.api.urls",)
    portal_urls = ("apps.contrib.mirror.pages.urls",)
    described = (
        Described(
            "upstreams",
            {"host": "upstream"},
            "apps.contrib.mirror.api.upstreams.described",
            secrets=("token",),
        ),
        Described(
            "policies", {"": "upstream-policies"}, "apps.contrib.mirror.api.policies.described", within="upstreams"
        ),
    )
    help_topics = {
        "mirror": "mirror",
        "mirror-clients": "mirror#configure-a-client",
        "mirror-not-found": "not-found",
        "mirror-trust": "mirror#trust",
    }
    staff_menu = (
        MenuEntry(
            "Mirror",
            "portal:mirror",
            "layers",
            permission="upstream.view_upstream",
            words="other registries upstream policy rules alarms sync",
        ),
    )
    reader_menu = (
        MenuEntry(
            "Mirror",
            "portal:mirror",
            "layers",
            offer="Get public providers through this registry: verified, and not too new.",
            words="other registries network provider_installation terraformrc",
        ),
        MenuEntry(
            "Lock file",
            "portal:lock",
            "lock",
            offer="Add the checksums of all platforms to a .terraform.lock.hcl file.",
            words="terraform lock hcl checksums hashes platforms complete",
        ),
    )

    page_sections = {"traffic": (("portal/upstream/saved.html", "pages.saved.section"),)}

    periodic_tasks = {
        "prune-mirrored": {"task": "upstream.prune", "schedule": crontab(hour=3, minute=2)},
        "sync-mirrored": {"task": "upstream.sync_due", "schedule": 300.0},
        "read-mirrored-docs": {"task": "upstream.read_docs", "schedule": crontab(minute=32)},
        "evict-mirrored": {"task": "upstream.evict", "schedule": crontab(hour=3, minute=7)},
        "forget-lost-mirrored": {"task": "upstream.forget_lost", "schedule": 60.0},
    }
    # What clients fetch, and what was held back from them.
    starts = ("serving.usage_counts.start", "policy.held_back.start")
    queues = {"upstream": ("fetch-upstream-*", "check-upstream", "lock-providers", "sync-upstream")}
    queue_needs = {"upstream": "health.is_used"}
    job_targets = ("targets.SOURCES",)
    sealed_columns = ("asking.upstreams.SEALED",)
    consequences = ("policy.consequences.of_releases",)
    events = ("events.EVENTS",)
    attention = ("attention.ALARMS", "attention.POLICY")

    act_permissions = ("operate_upstream",)
    admin_lists = (
        "Mirror",
        (
            *("Alarm", "Upstream", "UpstreamProvider", "UpstreamVersion", "UpstreamPackage", "KeyPin"),
            *("UnsignedAllowance", "PolicyRule", "PolicyException", "SyncRun", "Schedule"),
        ),
    )
    alarm_tiles = {
        "open mirror alarms": ("Alarm", "records.alarms.open_alarms", "?state__exact=open", "records.alarms.about"),
    }
    parts = {
        "upstreams": Part(
            "Mirrored registries",
            "Have the providers that are mirrored.",
            "One is unreachable. Stored providers are served; new ones have to wait.",
        )
    }
    part_states = ("health.part_states",)
    doctor_looks = {"upstreams": "health.registries", "advisories": "health.advisory_files"}
    counters = ("serving.counters.fetches", "serving.counters.fetch_duration", "serving.counters.queue_duration")
    metric_families = ("health.families",)
    verifications = ("records.verification.verify",)

    def connect(self) -> None:
        from apps.contrib.mirror.pages import providers
        from apps.contrib.mirror.serving import answers, offering
        from apps.http import mirrors
        from apps.portal.frame import elsewhere
        from apps.releases.origin import other_registries

        # Providers of other registries: for both edges of the mirror, and beside our own on pages.
        mirrors.others = answers.Mirrors()
        elsewhere.providers = providers.found_for
        # Modules of other registries, for the room that publishes what is elsewhere.
        other_registries.modules = offering.Modules()
