from apps.room import Room


class Reporting(Room):
    name = "apps.contrib.reporting"
    verbose_name = "Reported configurations"

    api_urls = ("apps.contrib.reporting.api.usage",)
