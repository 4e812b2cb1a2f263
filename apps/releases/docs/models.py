"""The columns of every page of docs, from this registry or another."""

from typing import Self, TypeVar

from django.db import models

Page = TypeVar("Page", bound="DocsRow")


class DocsKind(models.TextChoices):
    """In the order in which pages list them; the values are part of URLs."""

    OVERVIEW = "overview", "Overview"
    GUIDE = "guides", "Guides"
    RESOURCE = "resources", "Resources"
    DATA_SOURCE = "data-sources", "Data sources"
    EPHEMERAL = "ephemeral-resources", "Ephemeral resources"
    FUNCTION = "functions", "Functions"
    LIST = "list-resources", "List resources"
    ACTION = "actions", "Actions"
    # README, changelog and licence, which only packages of other registries are asked for.
    ABOUT = "about", "About the package"


class DocsQuerySet(models.QuerySet[Page]):
    def without_texts(self) -> Self:
        """For lists: a text has up to half a megabyte."""
        return self.defer("html")


class DocsRow(models.Model):
    """One page of docs, rendered and sanitised by a worker."""

    kind = models.CharField(max_length=20, choices=DocsKind.choices)
    slug = models.CharField(max_length=100)
    name = models.CharField(
        max_length=200, help_text="Its name in configurations, such as dns_record, or a guide's title."
    )
    subcategory = models.CharField(max_length=300, blank=True)
    title = models.CharField(max_length=300, blank=True)
    description = models.CharField(max_length=300, blank=True)
    html = models.TextField(blank=True)

    class Meta:
        abstract = True
