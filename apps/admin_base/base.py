from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, TypeVar

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IS_POPUP_VAR
from django.contrib.admin.utils import unquote
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import ForeignKey, Model, Q, QuerySet
from django.forms.models import BaseInlineFormSet
from django.forms.utils import pretty_name
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst

from apps.admin_base.acts import FROM_OVERVIEW, PARAMETER, Act, Button, buttons, offered
from apps.admin_base.counting import BoundedPaginator
from apps.admin_base.display import as_column, portal_link
from apps.admin_base.listing import LarderChangeList, searched
from apps.admin_base.markup import filled
from apps.lib.errors import RegistryError

# Rows per request: "select all" may mean a million.
ACTION_ROWS = 500
# Further refusals are only counted: nobody reads five hundred messages.
REFUSALS_SHOWN = 10
# Each word may add joins; PostgreSQL needs minutes to plan hundreds of them.
SEARCHED_WORDS = 8

M = TypeVar("M", bound=Model)


def is_key(column: Any, text: str) -> bool:
    """Check that the column could hold the text; a query with any other text raises."""
    column = getattr(column, "target_field", column)
    try:
        column.run_validators(column.to_python(text))
    except ValidationError:
        return False
    return True


class Autocomplete(AutocompleteSelect):
    """Ignores values that are no keys: Django's widget queries for them, and `?namespace=a--b` raises."""

    def optgroups(self, name: str, value: Sequence[str], attrs: dict[str, Any] | None = None) -> Any:
        return super().optgroups(name, [key for key in value if is_key(self.field.target_field, key)], attrs)


class Autocompletes:
    """For admins and inlines with `autocomplete_fields`."""

    def formfield_for_foreignkey(self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any) -> Any:
        admin: Any = self
        if db_field.name in admin.get_autocomplete_fields(request):
            kwargs["widget"] = Autocomplete(db_field, admin.admin_site)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)  # type: ignore[misc]  # a mixin


class LabelledRows(BaseInlineFormSet[Any, Any, Any]):
    """Rows whose fields have names of their own: the head of a column names none of them for a screen reader."""

    def add_fields(self, form: Any, index: int | None) -> None:
        super().add_fields(form, index)
        for name, field in form.fields.items():
            drawn = getattr(field.widget, "widget", field.widget)  # without the links around a related row
            drawn.attrs["aria-label"] = capfirst(field.label or pretty_name(name))


class LarderInline(Autocompletes, admin.TabularInline[Any, Any]):
    formset = LabelledRows
    extra = 0


def address_condition(word: str, namespace: str, name: str) -> Q | None:
    """Match `namespace/start-of-name`; return None if the word has no slash. The other two are ORM paths."""
    owner, slash, start = word.partition("/")
    return Q(**{namespace: owner, f"{name}__begins": start}) if slash else None


class LarderAdmin(Autocompletes, admin.ModelAdmin[M]):
    """Fifty rows a page; searches word by word; shows a RegistryError as a message."""

    # The singular and the plural, if Django's guess from the class is not what people say. In Meta they would need a
    # migration.
    names: tuple[str, str] | None = None
    ordering: ClassVar[tuple[str, ...]] = ("-pk",)
    list_per_page = 50
    list_max_show_all = 200
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # facets count every row for each filter
    paginator = BoundedPaginator
    # ORM paths that `export_csv` writes, in this order. Never a secret or its digest.
    csv_columns: Sequence[str] = ()
    # Columns by which any number of rows is sorted, because an index has that order. The default order is always one.
    indexed_orders: Sequence[str] = ()
    # What can be done with rows, by the name that a form sends.
    acts: Mapping[str, Act] = {}

    def __init__(self, model: type[M], admin_site: admin.AdminSite) -> None:
        super().__init__(model, admin_site)
        if self.names:
            self.opts.verbose_name, self.opts.verbose_name_plural = self.names
        if self.date_hierarchy is None and "created_at" in {column.name for column in self.opts.concrete_fields}:
            type(self).date_hierarchy = "created_at"
        if self.search_help_text:
            type(self).search_fields = ("pk",)  # shows the box; `search_condition` says what is searched

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[LarderChangeList]:  # noqa: ARG002
        return LarderChangeList

    def get_list_display(self, request: HttpRequest) -> Any:
        columns = [as_column(self.model, name) for name in super().get_list_display(request)]
        acts = self._in_rows(request)
        may_delete = IS_POPUP_VAR not in request.GET and self.has_delete_permission(request)
        if not acts and not may_delete:
            return columns

        @admin.display(description="actions")
        def row_acts(row: M) -> SafeString:
            found = offered(row, acts)
            if may_delete and self.has_delete_permission(request, row):
                found.append(Button("Delete…", url=reverse(f"{self.name}_delete", args=[row.pk])))
            return buttons(row, found)

        return [*columns, row_acts]

    @admin.display(description=mark_safe('<input type="checkbox" id="action-toggle">'))  # Django's own
    def action_checkbox(self, row: M) -> SafeString:
        """Render the checkbox like Django, without its three templates for each row."""
        return filled(
            '<input type="checkbox" name="{}" value="{}" class="action-select" aria-label="{} - {}">',
            ACTION_CHECKBOX_NAME,
            row.pk,
            "Select this object for an action",
            str(row),
        )

    def _allowed(self, request: HttpRequest) -> dict[str, Act]:
        acts = {} if IS_POPUP_VAR in request.GET else self.acts
        return {name: act for name, act in acts.items() if request.user.has_perm(act.permission)}

    def get_actions(self, request: HttpRequest) -> Any:
        allowed = self._allowed(request)
        return super().get_actions(request) | {name: (act.run, name, act.label) for name, act in allowed.items()}

    @admin.display(description="page")
    def page(self, row: M) -> SafeString:
        return portal_link(self.get_view_on_site_url(row) or "", row)

    def search_condition(self, word: str) -> Q:
        """Return the condition for one word of the search box. Called only if `search_help_text` shows the box.

        On large tables an index serves each alternative of an OR.
        """
        raise NotImplementedError

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not self.search_fields:  # without a box, ?q= can still be typed into the URL
            return queryset, False
        words = list(dict.fromkeys(search_term.replace("\0", " ").split()))
        if len(words) > SEARCHED_WORDS:
            self.message_user(request, f"Only the first {SEARCHED_WORDS} words were used.", messages.WARNING)
        for word in words[:SEARCHED_WORDS]:
            queryset = searched(queryset, self.search_condition(word))
        return queryset, False

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> M | None:
        return super().get_object(request, object_id, from_field) if is_key(self.opts.pk, object_id) else None

    def response_action(self, request: HttpRequest, *rows: Any, **more: Any) -> HttpResponse | None:
        if all(is_key(self.opts.pk, key) for key in request.POST.getlist(ACTION_CHECKBOX_NAME)):
            return super().response_action(request, *rows, **more)
        self.message_user(request, "The selected rows are not in this list.", messages.ERROR)
        return None  # back to the list

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        try:
            if object_id is not None and request.method == "POST" and "action" in request.POST:
                row = self.get_object(request, unquote(object_id))
                if row is not None:
                    return self._act_on_page(request, row)
            return super().changeform_view(request, object_id, form_url, extra_context)
        except RegistryError as refusal:  # the verb's transaction has been rolled back
            return self._refused(request, refusal)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        try:
            return super().delete_view(request, object_id, extra_context)
        except RegistryError as refusal:
            return self._refused(request, refusal)

    def render_change_form(self, request: HttpRequest, context: Any, *rest: Any, **more: Any) -> HttpResponse:
        context["adminform"].form.label_suffix = ""
        if (row := more.get("obj")) is not None:
            acts = self._allowed(request).items()
            context["page_actions"] = [(name, act.button) for name, act in acts if act.button and act.offered(row)]
        return super().render_change_form(request, context, *rest, **more)

    def _in_rows(self, request: HttpRequest) -> dict[str, Act]:
        return {name: act for name, act in self._allowed(request).items() if act.button and not act.is_costly}

    def buttons_of(self, request: HttpRequest, rows: Iterable[M]) -> list[SafeString]:
        """Return the buttons of rows that the overview shows: they send to the list."""
        acts, listed = self._in_rows(request), reverse(f"{self.name}_changelist")
        return [buttons(row, offered(row, acts), url=listed) for row in rows]

    @property
    def name(self) -> str:
        """The names of its routes before `_changelist`, `_change` and so on."""
        return f"admin:{self.opts.app_label}_{self.opts.model_name}"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if request.method != "POST" or PARAMETER not in request.POST:
            return super().changelist_view(request, extra_context)
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        name, _, key = request.POST[PARAMETER].partition(":")
        row = self.get_object(request, key)
        if row is None:
            self.message_user(request, "The row is no longer in this list.", messages.ERROR)
        elif answer := self._act(request, row, name):
            return answer
        return HttpResponseRedirect(self.way_back(request))

    def way_back(self, request: HttpRequest) -> str:
        """Return the page from which an act was asked for."""
        return reverse("admin:index") if FROM_OVERVIEW in request.POST else request.get_full_path()

    def _act_on_page(self, request: HttpRequest, row: M) -> HttpResponse:
        """Run the list's action on this row alone."""
        if answer := self._act(request, row, request.POST["action"]):
            return answer
        is_there = self.get_queryset(request).filter(pk=row.pk).exists()
        return HttpResponseRedirect(request.get_full_path() if is_there else reverse(f"{self.name}_changelist"))

    def _act(self, request: HttpRequest, row: M, name: str) -> HttpResponse | None:
        """Run an act on one row; return a page that asks for more, if it needs one."""
        if not self.has_view_or_change_permission(request, row):
            raise PermissionDenied
        act = self._allowed(request).get(name)
        if act is None or not act.button or not act.offered(row):
            self.message_user(request, f"This is no longer possible for {row}: check its state.", messages.WARNING)
            return None
        if act.warning and "apply" not in request.POST:
            return self._ask(request, row, name, act)
        return act.run(self, request, self.get_queryset(request).filter(pk=row.pk))

    def _ask(self, request: HttpRequest, row: M, name: str, act: Act) -> HttpResponse:
        asked = {"name": name, "title": act.button, "lead": act.warning, "is_final": True}
        context: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "title": f"{act.button}: {row}",
            "opts": self.opts,
            "act": asked,
            "chosen": [row.pk],
            "checkbox": ACTION_CHECKBOX_NAME,
        }
        return TemplateResponse(request, "admin/act.html", context)

    def _refused(self, request: HttpRequest, refusal: RegistryError) -> HttpResponse:
        self.message_user(request, f"{refusal} {refusal.hint}", messages.ERROR)
        return HttpResponseRedirect(request.get_full_path())

    def apply_verb(self, request: HttpRequest, rows: Iterable[M], verb: Callable[[M], object], *, done: str) -> None:
        """Call the verb for each row; report successes as "`done`: 3." and refusals with their reasons."""
        count, refused = 0, 0
        chosen = iter(rows)
        for row in islice(chosen, ACTION_ROWS):
            name = str(row)  # before the verb, which may delete the row
            try:
                verb(row)
            except RegistryError as refusal:
                refused += 1
                if refused <= REFUSALS_SHOWN:
                    self.message_user(request, f"{name}: {refusal}", messages.ERROR)
            else:
                count += 1
        if refused > REFUSALS_SHOWN:
            self.message_user(request, f"{refused - REFUSALS_SHOWN} more were rejected.", messages.ERROR)
        if count:
            self.message_user(request, f"{done}: {count}.", messages.SUCCESS)
        if next(chosen, None) is not None:
            self.message_user(request, f"Only the first {ACTION_ROWS} rows were processed.", messages.WARNING)


class ReadOnlyAdmin(LarderAdmin[M]):
    """A read-only list, also for superusers: Django answers a POST with 403."""

    def has_add_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False

    def has_change_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, _request: HttpRequest, _obj: Any = None) -> bool:
        return False

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        shown = []
        for title, options in super().get_fieldsets(request, obj):
            rows = [row if isinstance(row, list | tuple) else [row] for row in options["fields"]]
            fields = [[as_column(self.model, name) for name in row] for row in rows]
            shown.append((title, {**options, "fields": fields}))
        return shown

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002  # Django's own signature
        """Leave out the help texts of columns: they are for those who read the models."""
        options["help_texts"] = dict.fromkeys((column.name for column in self.opts.concrete_fields), "")
        return super().get_form(request, obj, change, **options)

    def get_readonly_fields(self, _request: HttpRequest, _obj: Any = None) -> list[Any]:
        """Return every field: one left editable by oversight would change what is published."""
        rows = self.fields or [row for _, options in self.fieldsets or () for row in options["fields"]]
        shown = [name for row in rows for name in ([row] if isinstance(row, str) else row)]
        return list(dict.fromkeys([*self.readonly_fields, *shown, *(as_column(self.model, name) for name in shown)]))
