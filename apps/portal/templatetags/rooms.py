"""Additions of the installed rooms to pages of others."""

from typing import Any

from django import template
from django.template import Context

from apps.portal.frame.sections import Section, sections_of
from apps.room import MenuEntry, rooms

register = template.Library()


@register.simple_tag(takes_context=True)
def room_entries(context: Context, menu: str) -> list[MenuEntry]:
    """The entries of `staff_menu` or `namespace_menu` that the reader may follow."""
    entries = [entry for room in rooms() for entry in getattr(room, menu)]
    return [entry for entry in entries if not entry.permission or entry.permission in context["perms"]]


@register.simple_tag(takes_context=True)
def room_sections(context: Context, page: str, subject: Any) -> list[Section]:
    """The sections on this page, about its subject."""
    return sections_of(page, context["frame"].viewer, subject)


@register.simple_tag
def publishing_asides() -> list[str]:
    """The templates of further ways to publish, beside the form."""
    return [room.publishing_aside for room in rooms() if room.publishing_aside]
