from celery.schedules import crontab

from apps.room import Described, MenuEntry, Room


class Trusted(Room):
    name = "apps.contrib.trusted"
    verbose_name = "Trusted publishers"

    settings = {"TRUSTED_ISSUERS": "settings_values.read"}
    api_urls = ("apps.contrib.trusted.api.publishers",)
    portal_urls = ("apps.contrib.trusted.pages",)
    namespace_menu = (
        MenuEntry(
            "From CI",
            "portal:namespace-ci",
            icon="terminal",
            key="ci",
            tab="publishing",
            before="keys",
            words="pipeline github gitlab script",
        ),
        MenuEntry(
            "Trusted publishers",
            "portal:trusted-publishers",
            icon="badge-check",
            key="trusted",
            tab="publishing",
            before="keys",
            for_owners=True,
            words="ci oidc id token",
        ),
    )
    described = (
        Described(
            "trusted_publishers",
            {"id": "trusted-publisher"},
            "apps.contrib.trusted.api.publishers.described",
            rows="trusted-publishers",
            within="namespaces",
        ),
    )
    help_topics = {"trusted-publishing": "trusted-publishing"}

    periodic_tasks = {"prune-exchanges": {"task": "accounts.prune_exchanges", "schedule": crontab(hour=2, minute=41)}}
    created_by_tokens = ("publishers.CREATED_BY_TOKENS",)
    connections = ("publishers.CONNECTIONS",)
    namespace_endings = ("publishers.end_all",)
