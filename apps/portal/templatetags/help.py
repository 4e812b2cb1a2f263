"""`{% help "tokens" %}`: a link to the part of Docs that a page is about; and the index of Docs."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.portal.help import manual

register = template.Library()


@register.simple_tag(name="help")
def help_link(topic: str, text: str = "Learn more") -> SafeString:
    """`topic` is one of manual.topics()."""
    return format_html('<a class="nowrap" href="{}" data-help="{}">{}</a>', manual.topic_url(topic), topic, text)


@register.simple_tag
def docs_index() -> tuple[manual.Chapter, ...]:
    return manual.index()
