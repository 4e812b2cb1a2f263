"""Filters by name, for the admin lists of every room above accounts."""

from django.db.models import Q, Subquery

from apps.accounts.models import Namespace, User
from apps.admin_base.filters import Filter, words


def in_namespace(path: str = "namespace") -> Filter:
    def condition(name: str) -> Q:
        """Compare with one key: of a join by name PostgreSQL knows too little to take the index of a namespace."""
        return Q(**{path: Subquery(Namespace.objects.filter(name=name).values("pk")[:1])})

    return words(
        "namespace", "in", condition, lambda: Namespace.objects.order_by("name").values_list("name", flat=True)
    )


def by_person(path: str = "user__username", title: str = "person") -> Filter:
    return words(title, "person", path, lambda: User.objects.order_by("username").values_list("username", flat=True))
