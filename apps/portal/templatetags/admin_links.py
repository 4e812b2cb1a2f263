"""`{% admin_link module %}`: for staff, a link to the same object in the admin."""

from typing import Any

from django import template
from django.db.models import Model
from django.template import Context
from django.urls import reverse

from apps.accounts.access import operators

register = template.Library()


@register.inclusion_tag("partials/admin_link.html", takes_context=True)
def admin_link(context: Context, thing: Model, *, in_menu: bool = False) -> dict[str, Any]:
    """Built from its URL name: pages of the portal do not import the admin."""
    frame = context.get("frame")
    if frame is None or not operators.is_operator(frame.viewer):
        return {}
    meta = thing._meta  # noqa: SLF001  # Django's public name for it
    if not frame.viewer.user.has_perm(f"{meta.app_label}.view_{meta.model_name}"):
        return {}
    return {"url": reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[thing.pk]), "in_menu": in_menu}
