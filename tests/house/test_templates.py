"""All pages keep to the strict Content-Security-Policy: no inline code, no remote files."""

import re

from django.template import engines
from django.template.exceptions import TemplateSyntaxError
from django.urls import get_resolver

from tests.house import sources

TEMPLATES = sources.templates()
STYLES = sorted(path for path in (sources.CHECKOUT / "static").rglob("*.css"))
SCRIPTS = sorted(path for path in (sources.CHECKOUT / "static" / "js").rglob("*.js"))
COMMENT = re.compile(r"{#.*?#}|{% comment %}.*?{% endcomment %}", re.DOTALL)
LOGIC = re.compile(r"{%.*?%}|{{.*?}}", re.DOTALL)
INLINE = {
    "script": re.compile(r"<script(?![^>]*\bsrc=)", re.IGNORECASE),
    "style element": re.compile(r"<style\b", re.IGNORECASE),
    "style attribute": re.compile(r"<[^>]*\sstyle\s*=", re.IGNORECASE),
    "event handler": re.compile(r"<[^>]*\son[a-z]+\s*=", re.IGNORECASE),
    "javascript: address": re.compile(r"[\"']\s*javascript:", re.IGNORECASE),
    "htmx script": re.compile(r"\bhx-on\b|hx-vars|js:", re.IGNORECASE),
}
REMOTE = re.compile(
    r"<(?:script|link|img|iframe|source|video|audio|object|embed)\b[^>]*(?:src|href)=[\"'](?:https?:)?//", re.IGNORECASE
)
NAMED = re.compile(r"{%\s*url\s+([\"'])(?P<name>[^\"']+)\1")


def markup(path):
    return COMMENT.sub("", sources.text_of(path))


def test_no_template_holds_inline_code():
    texts = {sources.name_of(path): LOGIC.sub("", markup(path)) for path in TEMPLATES}
    assert {(name, what) for name, text in texts.items() for what in INLINE if INLINE[what].search(text)} == set()


def test_no_template_fetches_from_elsewhere():
    assert [sources.name_of(path) for path in TEMPLATES if REMOTE.search(markup(path))] == []


def test_no_stylesheet_or_script_fetches_from_elsewhere():
    remote = re.compile(
        r"url\(\s*[\"']?(?:https?:)?//|@import\s+[\"'](?:https?:)?//|(?:import|from)\s*\(?[\"'](?:https?:)?//"
    )
    assert [sources.name_of(path) for path in [*STYLES, *SCRIPTS] if remote.search(sources.text_of(path))] == []


def test_each_template_compiles():
    refused = {}
    for path in TEMPLATES:
        name = path.as_posix().rpartition("/templates/")[2]
        try:
            engines["django"].get_template(name)
        except TemplateSyntaxError as error:
            refused[name] = str(error)
    assert refused == {}


def known(name):
    *namespaces, last = name.split(":")
    resolver = get_resolver()
    for namespace in namespaces:
        if namespace not in resolver.namespace_dict:
            return False
        resolver = resolver.namespace_dict[namespace][1]
    return last in resolver.reverse_dict


def test_every_url_that_a_template_names_exists():
    used = {(found["name"], sources.name_of(path)) for path in TEMPLATES for found in NAMED.finditer(markup(path))}
    assert {use for use in used if not known(use[0])} == set()
