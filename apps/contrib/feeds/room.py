from apps.room import Room

_HEAD, _LINK = "portal/feeds/head.html", "portal/feeds/link.html"


class Feeds(Room):
    name = "apps.contrib.feeds"
    verbose_name = "Feeds and badges"

    portal_urls = ("apps.contrib.feeds.pages.feeds", "apps.contrib.feeds.pages.badges")
    page_sections = {
        "version-head": ((_HEAD, "pages.feeds.of_address"),),
        "versions-line": ((_LINK, "pages.feeds.of_address"),),
        "versions": (("portal/feeds/follow.html", "pages.badges.offered"),),
        "namespace-head": ((_HEAD, "pages.feeds.of_namespace"),),
        "namespace-recent": ((_LINK, "pages.feeds.of_namespace"),),
    }
