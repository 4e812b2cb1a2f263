"""Every route of the URL configuration, by its full name."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True, slots=True)
class Route:
    pattern: str
    name: str | None
    arguments: frozenset[str]

    @property
    def is_admin(self) -> bool:
        return self.pattern.startswith("admin/")

    @property
    def is_library(self) -> bool:
        """allauth's views: their methods are its own matter, what they answer to whom is ours."""
        return self.pattern.startswith("account/")


def _walk(resolver: URLResolver, prefix: str, namespace: str) -> Iterator[Route]:
    for entry in resolver.url_patterns:
        text = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            inner = f"{namespace}{entry.namespace}:" if entry.namespace else namespace
            yield from _walk(entry, text, inner)
        elif isinstance(entry, URLPattern):
            arguments = frozenset(entry.pattern.regex.groupindex)
            yield Route(text, f"{namespace}{entry.name}" if entry.name else None, arguments)


def all_routes() -> list[Route]:
    return list(_walk(get_resolver(), "", ""))
