"""What the admin pages of all rooms share (D19).

A module beside the rooms and no room itself: `audit` and `blobs` are blind to each other and lie lowest, and `lib`
knows no Django, so there is no room from which both could import this.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, TypeVar

from django.contrib import admin, messages
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.lib.errors import RegistryError

# One request acts on so many rows at most; "select all" may mean a million.
ACTION_ROWS = 500

M = TypeVar("M", bound=Model)


class LarderAdmin(admin.ModelAdmin[M]):
    """Pages of fifty, searched by whole words, and a verb's refusal shown as a message."""

    list_per_page = 50
    list_max_show_all = 200
    show_full_result_count = False

    def find(self, word: str) -> Q:
        """What one word of the search box means; only asked where `search_fields` shows the box."""
        raise NotImplementedError

    def get_search_results(
        self, _request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        for word in search_term.split():
            queryset = queryset.filter(self.find(word))
        return queryset, False

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except RegistryError as refusal:  # the transaction around the verb is rolled back by now
            return self._refused(request, refusal)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        try:
            return super().delete_view(request, object_id, extra_context)
        except RegistryError as refusal:
            return self._refused(request, refusal)

    def _refused(self, request: HttpRequest, refusal: RegistryError) -> HttpResponse:
        self.message_user(request, f"{refusal} {refusal.mend}", messages.ERROR)
        return HttpResponseRedirect(request.get_full_path())

    def act(self, request: HttpRequest, rows: Iterable[M], verb: Callable[[M], object], *, done: str) -> None:
        """Call a verb for each selected row; say for how many it was `done`, and why for each that refused."""
        count = 0
        chosen = iter(rows)
        for row in islice(chosen, ACTION_ROWS):
            try:
                verb(row)
            except RegistryError as refusal:
                self.message_user(request, f"{row}: {refusal}", messages.ERROR)
            else:
                count += 1
        if count:
            self.message_user(request, f"{done}: {count}.", messages.SUCCESS)
        if next(chosen, None) is not None:
            self.message_user(request, f"Only the first {ACTION_ROWS} rows were worked on.", messages.WARNING)


class ReadOnlyAdmin(LarderAdmin[M]):
    """Seen by those who may view it, edited by nobody, superusers included: Django answers a POST with 403."""

    def has_add_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False

    def has_change_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False


class WordFilter(admin.SimpleListFilter):
    """A filter with a small text field, for columns with too many values to list."""

    template = "admin/word_filter.html"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [("", "")]  # Django drops a filter that offers nothing

    def choices(self, changelist: Any) -> Any:
        others = [
            (name, value)
            for name, values in changelist.filter_params.items()
            if name != self.parameter_name
            for value in values
        ]
        if changelist.query:
            others.append(("q", changelist.query))
        yield {
            "name": self.parameter_name,
            "value": self.value() or "",
            "others": others,
            "clear": changelist.get_query_string(remove=[self.parameter_name or ""]),
        }


def digest_prefix(word: str) -> str:
    """The hex digits of a digest that was copied with or without its `sha256:`."""
    return word.removeprefix("sha256:").lower()


def badge(state: str) -> SafeString:
    return format_html('<span class="larder-badge larder-badge-{}">{}</span>', state, state)


def short(digest: str) -> SafeString | str:
    """The first digits of a digest, the whole of it on hover."""
    return format_html('<code title="sha256:{}">{}</code>', digest, digest[:12]) if digest else "-"
