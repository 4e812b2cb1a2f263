from collections.abc import Sequence
from typing import Any

from django.contrib.admin.widgets import AutocompleteSelect
from django.core.exceptions import ValidationError
from django.db.models import ForeignKey
from django.http import HttpRequest


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
