from apps.room import Room


class Assistants(Room):
    name = "apps.contrib.assistants"

    root_urls = ("apps.contrib.assistants.urls",)
