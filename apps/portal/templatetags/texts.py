"""Render a module's own texts, all of them untrusted, and the matches in them."""

from collections.abc import Iterable
from urllib.parse import quote

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from apps.lib.text.search_terms import marked
from apps.modules.contents import readme

register = template.Library()


@register.filter
def described(text: str) -> SafeString:
    """A description as Markdown."""
    return mark_safe(readme.describe(text)) if text else SafeString("")  # noqa: S308  # sanitised there


@register.filter
def headings(html: str) -> list[readme.Heading]:
    """The table of contents of a long README."""
    return readme.headings(html)


@register.filter
def is_long(text: str) -> bool:
    """A type or default that needs its own block."""
    return "\n" in text or len(text) > 60  # noqa: PLR2004  # about the width of its column


@register.filter
def literal(text: str) -> SafeString:
    """A type or default as its author wrote it. A filter and no template: a page shows hundreds."""
    if is_long(text):
        return format_html('<pre class="literal" tabindex="0"><code>{}</code></pre>', text)
    return format_html('<code class="literal">{}</code>', text)


@register.simple_tag
def file_url(files_path: str, path: str, line: int = 0) -> str:
    """The page of a file of this version, at a line. Not by reverse(): a name that no route accepts must not fail."""
    return f"{files_path}/{quote(path, safe='/~:@!$&()*+,;=')}" + (f"#L{line}" if line else "")


@register.simple_tag
def source_link(files_path: str, row: dict[str, object], *, whole: bool = False) -> SafeString:
    """A link `variables.tf:12`. Without the folder, which the page names, unless `whole`."""
    path, line = str(row.get("file", "")), row.get("line", 0)
    if not path:
        return SafeString("")
    url = file_url(files_path, path, line if isinstance(line, int) else 0)
    last = path if whole else path.rpartition("/")[2]
    return format_html('<a class="where" href="{}" title="{}, line {}">{}:{}</a>', url, path, line, last, line)


@register.filter
def with_marks(text: str, words: Iterable[str]) -> SafeString:
    """The escaped text with `<mark>` around matches."""
    pieces = (
        format_html("<mark>{}</mark>", piece) if hit else conditional_escape(piece)
        for piece, hit in marked(text, words)
    )
    return mark_safe("".join(pieces))  # noqa: S308  # each piece is escaped above
