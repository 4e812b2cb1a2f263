from apps.room import Room


class Bulk(Room):
    name = "apps.contrib.bulk"
    verbose_name = "Acts on several versions"

    api_urls = ("apps.contrib.bulk.api.acts",)
