from celery.schedules import crontab

from apps.room import Described, MenuEntry, Part, Room


class Git(Room):
    name = "apps.contrib.git"
    label = "sources"  # of tables, permissions and applied migrations: it is older than the room's name
    verbose_name = "Git"

    settings = {"SOURCES": "settings_values.read"}
    api_urls = ("apps.contrib.git.api.urls",)
    portal_urls = ("apps.contrib.git.pages.urls",)
    namespace_menu = (
        MenuEntry(
            "Git repositories",
            "portal:git-repositories",
            icon="tag",
            key="git",
            tab="publishing",
            words="connect repositories tags github gitlab",
            offer="connect a Git repository: each tag becomes a version",
        ),
    )
    described = (
        Described(
            "repositories",
            {"id": "repository"},
            "apps.contrib.git.api.repositories.described_in",
            rows="repositories",
            within="namespaces",
            identity=("url",),
            secrets=("credential",),
        ),
    )
    help_topics = {"git": "git", "git-webhooks": "git#webhooks"}
    publishing_aside = "portal/sources/publishing_aside.html"

    periodic_tasks = {
        "poll-git": {"task": "sources.poll_due", "schedule": 5.0},
        "prune-git": {"task": "sources.prune", "schedule": crontab(hour=3, minute=12)},
    }
    queues = {"upstream": ("list-git-tags", "publish-git-tag", "preview-git", "scan-host-keys")}
    queue_needs = {"upstream": "connecting.is_used"}
    job_targets = ("targets.SOURCES",)
    job_refills = {"git": "queueing.queue_more"}
    retries = ("requesting.retried",)
    sealed_columns = ("credentials.SEALED", "hooks.SEALED")
    created_by_tokens = ("connecting.CREATED_BY_TOKENS",)
    connections = ("connecting.CONNECTIONS",)
    events = ("events.EVENTS",)
    attention = ("attention.TAGS", "attention.REPOSITORIES")
    namespace_endings = ("connecting.end_all",)

    admin_lists = ("Git", ("GitRepository", "Tag"))
    alarm_tiles = {
        "Git repositories that fail": ("GitRepository", "monitoring.failing", "?ended=0&failing=1", "monitoring.why")
    }
    parts = {
        "git": Part("Publishing from Git", "Makes releases of tags.", "New tags wait. Uploads are published as usual.")
    }
    part_states = ("monitoring.part_states",)
    doctor_looks = {"git": "monitoring.programs", "git repositories": "monitoring.repositories"}
    metric_families = ("monitoring.families",)

    def connect(self) -> None:
        from apps.contrib.git import places
        from apps.releases.origin import other_registries

        # Which versions of other registries' modules were listed, for the exceptions of their policy.
        other_registries.listed_version = places.listed_version
