"""The pages of docs/, as they are in this version of Larder: what there is, what it says, and where a topic is.

docs/README.md is the only list of them: its tables become the navigation. What is not in it is not shown, nor are pages
for those who work on Larder. Texts do not change while a process runs, so each is read and rendered once.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from django.conf import settings
from django.urls import reverse

from apps.lib.errors import NotFound
from apps.lib.markdown import rendering
from apps.lib.markdown.links import Place
from apps.lib.text.search_terms import begins_a_part, words_of
from apps.room import rooms
from apps.snippets import client_setup

FOLDER = settings.BASE_DIR / "docs"
INDEX = "README"
# Topic of a page of ours -> where Docs has it. Tests open each. The rooms have more.
TOPICS = {
    "address": "configuration/address",
    "approval": "approval",
    "archives": "modules",
    "backup": "operations/backup",
    "breaking-changes": "version-guard#what-happens-then",
    "command-line": "login",
    "documentation": "providers#documentation",
    "errors": "using#when-it-fails",
    "handing-over": "handing-over",
    "health": "module-health#what-counts",
    "install-in-a-pipeline": "using#install-in-a-pipeline",
    "invitations": "operations/people",
    "keys-of-larder": "operations/keys",
    "mail": "notifications#mail",
    "mail-server": "notifications#for-operators",
    "oci": "oci#use-a-module",
    "operators": "operations/people",
    "pipelines": "publishing",
    "providers": "providers",
    "reports": "who-uses-what#reported-configurations",
    "second-factor": "sign-on#second-factor",
    "service-accounts": "tokens#service-accounts",
    "sign-on": "sign-on",
    "signing-keys": "providers#who-signs",
    "tokens": "tokens",
    "update-bots": "recipes/update-bots",
    "usage": "who-uses-what",
    "use": "using",
    "verifying": "verifying",
}
EXAMPLE_HOST = "registry.example.com"
MOST_FOUND = 8
_ROW = re.compile(r"\|\s*(?P<part>… )?\[(?P<label>[^\]]+)\]\((?P<target>[^)\s]+)\)\s*\|")
_HEADING = re.compile(r"(?P<marks>#{1,4}) +(?P<words>.+?) *$")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the index. `name` is that of the page, such as configuration/address; empty for one not in docs/."""

    url: str
    label: str
    name: str = ""
    is_part: bool = False  # of the entry above it


@dataclass(frozen=True, slots=True)
class Chapter:
    """The pages for one kind of reader."""

    title: str
    entries: list[Entry] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Page:
    name: str
    title: str
    html: str

    @property
    def url(self) -> str:
        return url_of(self.name)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text below it, to be found."""

    page: str
    title: str  # of the page
    heading: str  # "" before the first one
    anchor: str
    text: str

    @property
    def name(self) -> str:
        return self.heading or self.title

    @property
    def url(self) -> str:
        return url_of(self.page, self.anchor)


def url_of(name: str, anchor: str = "") -> str:
    """The renderer prefixes the anchors of headings, so that none is an id of the page around them."""
    path = reverse("portal:help") if name == INDEX else reverse("portal:help-page", args=[name])
    return f"{path}#{rendering.ANCHOR_PREFIX}{anchor}" if anchor else path


@cache
def topics() -> dict[str, str]:
    return {**TOPICS, **{topic: place for room in rooms() for topic, place in room.help_topics.items()}}


def topic_url(topic: str) -> str:
    """Raises KeyError for a topic that is not there."""
    name, _, anchor = topics()[topic].partition("#")
    return url_of(name, anchor)


@cache
def chapters() -> tuple[Chapter, ...]:
    """The sections of the index that have pages to show, in its order."""
    found: list[Chapter] = []
    for line in _text(INDEX).splitlines():
        if heading := _HEADING.fullmatch(line):
            found.append(Chapter(heading["words"]))
        elif row := _ROW.match(line):
            path, _, anchor = row["target"].partition("#")
            name = path.removesuffix(".md")
            if _is_shown(name):
                label = row["label"].replace("`", "")
                found[-1].entries.append(Entry(url_of(name, anchor), label, name, bool(row["part"])))
    return tuple(chapter for chapter in found if chapter.entries)


@cache
def index() -> tuple[Chapter, ...]:
    """All of Docs, in reading order: how to use this registry, the chapters, and the reference."""
    first = Entry(reverse("portal:how-to"), "How to use this registry"), Entry(url_of(INDEX), "All pages")
    api = Entry(reverse("portal:api-docs"), "API")
    return (Chapter("", list(first)), *chapters(), Chapter("Reference", [api]))


@cache
def names() -> tuple[str, ...]:
    """Of the pages, in reading order."""
    listed = dict.fromkeys(entry.name for chapter in chapters() for entry in chapter.entries)
    return tuple(listed)


@cache
def page_of(name: str) -> Page:
    """Raises NotFound."""
    if name != INDEX and name not in names():
        raise NotFound(f"Docs has no page called {name}.", hint="See the list of all pages.")
    lines = list(_lines(name))
    title = lines[0][1]["words"] if lines[0][1] else name
    # The page has the title as its own heading, so the others go up by one.
    text = "\n".join(line[1:] if heading else line for line, heading in lines[1:])
    if name == INDEX:  # without the chapter for those who work on Larder
        shown = tuple(f"# {chapter.title}\n" for chapter in chapters())
        first, *parts = re.split(r"^(?=# )", text, flags=re.MULTILINE)
        text = "".join([first, *(part for part in parts if part.startswith(shown))])
    html = rendering.render(_for_this_host(text).encode(), _Among(name.rpartition("/")[0]))
    return Page(name, _plain(title), html)


def find(query: str, *, limit: int = MOST_FOUND, anywhere: bool = False) -> list[Section]:
    """Sections that have each word in their heading, the title of their page or their text, best first.

    Unless `anywhere`, at least one word is in a heading or title: too many sections only mention a word.
    """
    words = words_of(query)
    if not words:
        return []
    ranked = []
    for section in sections():
        places = (section.heading.casefold(), section.title.casefold(), section.text)
        ranks = [
            next((rank for rank, place in enumerate(places) if begins_a_part(word, place)), None) for word in words
        ]
        if None not in ranks and (anywhere or min(rank or 0 for rank in ranks) < len(places) - 1):
            ranked.append((sum(rank or 0 for rank in ranks), bool(section.heading), section))
    ranked.sort(key=lambda one: one[:2])  # of equals the order of the index stays
    return [section for *_, section in ranked[:limit]]


@dataclass
class _Among(Place):
    """A page in a folder of docs: other pages are help, everything else in the repository is only named."""

    @property
    def links(self) -> tuple[str, ...]:
        return (reverse("portal:help"),)

    def page_of(self, path: str, fragment: str) -> str | None:
        name = path.removesuffix(".md")
        return url_of(name, fragment) if name == INDEX or name in names() else None


def _is_shown(name: str) -> bool:
    """Return whether a target of the index is a page for those who use or run Larder."""
    return not name.startswith(("..", "maintain/", "ARCHITECTURE"))


def _text(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def _lines(name: str) -> Iterator[tuple[str, re.Match[str] | None]]:
    """Each line, with its match if it is a heading: in a block of code the same signs begin a comment."""
    fence = ""
    for line in _text(name).splitlines():
        mark = line.strip()[:3]
        if mark == "```" and fence in ("", mark):
            fence = "" if fence else mark
        yield line, None if fence else _HEADING.fullmatch(line)


@cache
def sections() -> tuple[Section, ...]:
    found = []
    for name in names():
        title = heading = ""
        texts: list[str] = []
        for line, match in [*_lines(name), ("# end", _HEADING.fullmatch("# end"))]:
            if match is None:
                texts.append(line)
                continue
            if title:
                text = " ".join(texts).casefold()
                found.append(Section(name, title, heading, rendering.slug_of(heading) if heading else "", text))
            texts = []
            title, heading = (title, _plain(match["words"])) if title else (_plain(match["words"]), "")
    return tuple(found)


def _plain(words: str) -> str:
    return _LINK.sub(r"\1", words).replace("`", "")


def _for_this_host(text: str) -> str:
    """With this registry's name in the examples, where everything in them accepts it: a name without a port."""
    variable, host = client_setup.variable(), client_setup.wire_host()
    if variable is None:
        return text
    example = "TF_TOKEN_" + EXAMPLE_HOST.replace(".", "_")
    return text.replace(example, variable.text.split("=")[0].removeprefix("export ")).replace(EXAMPLE_HOST, host)
