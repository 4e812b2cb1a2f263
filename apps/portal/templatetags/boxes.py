"""`{% callout tone="warn" title="…" %}text{% endcallout %}` and `{% empty_state … %}`."""

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.simple_block_tag
def callout(content: SafeString, **options: object) -> SafeString:
    """Options: `tone` (ok, warn, bad), `picture` (an icon name), `title`, `link` with `link_text`."""
    return _box("callout", content, options)


@register.simple_block_tag
def empty_state(content: SafeString, **options: object) -> SafeString:
    """The options of `callout` without `tone`. The `title` is a heading."""
    return _box("empty_state", content, options)


def _box(name: str, content: SafeString, options: dict[str, object]) -> SafeString:
    text = mark_safe(content.strip())  # noqa: S308  # rendered by the template, which escapes
    return render_to_string(f"partials/{name}.html", {**options, "text": text})
