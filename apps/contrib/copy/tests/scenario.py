"""What the routes of packages name: the sums of the provider of the scene."""

_SUMS = {"provider_file": "terraform-provider-dns_1.0.0_SHA256SUMS"}
NOWHERE = _SUMS


def place(namespace, users):  # others need them
    return _SUMS


def bodies():
    return {}
