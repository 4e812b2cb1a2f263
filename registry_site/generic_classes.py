"""Type arguments for classes of Django that are generic to django-stubs alone, such as `ModelForm[User]`."""

from typing import Any

from django.contrib.admin.options import BaseModelAdmin
from django.core.paginator import Paginator
from django.db.models import Field, Lookup, Prefetch
from django.forms.formsets import BaseFormSet
from django.forms.models import BaseModelForm, ModelChoiceField


def allow_arguments() -> None:
    """Let these classes ignore their arguments at run time, as Django's querysets do."""
    classes: tuple[Any, ...] = (
        BaseFormSet,
        BaseModelAdmin,
        BaseModelForm,
        Field,
        Lookup,
        ModelChoiceField,
        Paginator,
        Prefetch,
    )
    for generic in classes:
        generic.__class_getitem__ = classmethod(lambda cls, *_: cls)
