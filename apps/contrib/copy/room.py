from apps.room import Room


class Copy(Room):
    name = "apps.contrib.copy"
    label = "copy"
    verbose_name = "Static copy"
