"""Filters by name, for the admin lists of every room above accounts."""

from apps.accounts.models import Namespace, User
from apps.admin_base.filters import Filter, words


def in_namespace(path: str = "namespace__name") -> Filter:
    return words("namespace", "in", path, lambda: Namespace.objects.order_by("name").values_list("name", flat=True))


def by_person(path: str = "user__username", title: str = "person") -> Filter:
    return words(title, "person", path, lambda: User.objects.order_by("username").values_list("username", flat=True))
