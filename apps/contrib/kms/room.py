from apps.room import Room


class KeyServices(Room):
    name = "apps.contrib.kms"
    verbose_name = "Key services"

    key_addresses = ("addresses.AwsAddress", "addresses.VaultAddress")
