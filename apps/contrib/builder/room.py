from apps.room import Room


class Builder(Room):
    name = "apps.contrib.builder"
    verbose_name = "Usage builder"

    portal_urls = ("apps.contrib.builder.pages",)
    page_sections = {"module-call": (("portal/builder/link.html", "pages.link"),)}
