from apps.room import Described, MenuEntry, Room


class Webhooks(Room):
    name = "apps.contrib.webhooks"
    verbose_name = "Webhooks"

    api_urls = ("apps.contrib.webhooks.api.hooks",)
    portal_urls = ("apps.contrib.webhooks.pages",)
    staff_menu = (
        MenuEntry(
            "Webhooks",
            "portal:site-webhooks",
            "globe",
            permission="accounts.operate_namespace",
            words="all namespaces site",
        ),
    )
    namespace_menu = (
        MenuEntry(
            "Webhooks",
            "portal:webhooks",
            icon="globe",
            key="webhooks",
            tab="settings",
            before="transfer",
            for_owners=True,
            words="events slack teams notify",
        ),
    )
    described = (
        Described(
            "webhooks",
            {"id": "webhook"},
            "apps.contrib.webhooks.api.hooks.described",
            rows="webhooks",
            within="namespaces",
            identity=("url",),
        ),
        # After the namespaces that they are for.
        Described(
            "site_webhooks",
            {"id": "site-webhook"},
            "apps.contrib.webhooks.api.hooks.described_everywhere",
            rows="site-webhooks",
            identity=("url",),
        ),
    )
    page_sections = {"notify-users": (("portal/webhooks/recipients.html", "pages.recipients"),)}
    help_topics = {"webhooks": "webhooks"}

    channels = ("sending.CHANNEL",)
    events = ("events.EVENTS",)
    attention = ("attention.WEBHOOKS",)
    sealed_columns = ("hooks.SEALED",)
    created_by_tokens = ("hooks.CREATED_BY_TOKENS",)
    connections = ("hooks.CONNECTIONS",)
