"""Filters by name, for the admin lists of every room above accounts."""

from collections.abc import Iterable

from apps.accounts.models import Namespace, Team, User
from apps.admin_base.filters import SUGGESTED, WordFilter


class NamespaceFilter(WordFilter):
    title = "namespace"
    parameter_name = "in"
    path = "namespace__name"

    def suggestions(self) -> Iterable[str]:
        return Namespace.objects.order_by("name").values_list("name", flat=True)[:SUGGESTED]


class PersonFilter(WordFilter):
    title = "person"
    parameter_name = "person"
    path = "user__username"

    def suggestions(self) -> Iterable[str]:
        return User.objects.order_by("username").values_list("username", flat=True)[:SUGGESTED]


class TeamFilter(WordFilter):
    title = "team"
    parameter_name = "team"
    path = "team__name"

    def suggestions(self) -> Iterable[str]:
        return Team.objects.order_by("name").values_list("name", flat=True)[:SUGGESTED]
