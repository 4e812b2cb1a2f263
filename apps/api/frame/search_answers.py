"""The shapes of the search's answers."""

from typing import Any

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    DictField,
    IntegerField,
    ListField,
    Serializer,
)

from apps.releases.catalogue import everything
from apps.releases.models import Lifecycle


class SearchResult(Serializer[Any]):
    name = CharField(help_text="Of the thing itself, such as an input.")
    address = CharField(help_text="The module or provider that it is or belongs to, the namespace, or the team.")
    path = CharField(help_text="The folder that declares it, or the docs page; empty for the root.")
    description = CharField()
    version = CharField(allow_null=True, help_text="The default version; null for namespaces and teams.")
    lifecycle = ChoiceField(choices=Lifecycle.values, allow_null=True)
    published_at = DateTimeField(allow_null=True)
    downloads = IntegerField(allow_null=True)


class SearchGroup(Serializer[Any]):
    kind = ChoiceField(choices=everything.GROUPS)
    count = IntegerField(help_text="All of them, or of those that were looked at if `complete` is false.")
    results = SearchResult(many=True)


class SearchAnswer(Serializer[Any]):
    query = CharField()
    words = ListField(child=CharField(), help_text="What was searched for.")
    corrected = DictField(child=CharField(), help_text="The words that replaced misspelled ones.")
    complete = BooleanField(help_text="False: the words are in nearly everything, and only the best were looked at.")
    groups = SearchGroup(many=True)
