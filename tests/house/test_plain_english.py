"""People read plain English: docs/maintain/style.md lists the phrases that we do not write, and what to write.

Docstrings avoid the worst of them, and begin with what a thing is or does.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house import sources
from tests.rows import for_each_row

STYLE = sources.CHECKOUT / "docs" / "maintain" / "style.md"
ROW = re.compile(r"^\| (?P<phrases>[^|]+) \| [^|]+ \|$", re.MULTILINE)
SPEECH = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# A docstring says what a thing is ("The …") or does ("Return", "Move"), in place of a clause about it.
NO_FIRST_WORD = re.compile(r"(?:What|Whether|Where|As|How|Who|Which)\b")
# Other texts in three quotes have something before them on their line, and are passed over. Parsing takes ten times as
# long.
TRIPLE_QUOTED = re.compile(r'(?P<is_doc>^ *r?)?"""(?P<text>.*?)"""', re.MULTILINE | re.DOTALL)
CONSTANT = re.compile(r"\b[A-Z_]{2,}\b")
# Of the phrases, those that no docstring has either: name who acts.
NOT_IN_DOCSTRINGS = (
    *("nobody", "anybody", "somebody", "everybody", "whoever"),
    *("goes on", "go on", "going on", "went on", "any more", "anew", "all the same", "but for"),
)
# What is between these marks is wire text: a code, a value, a command.
INLINE_CODE = re.compile(r"(?<!`)`[^`\n]+`(?!`)")
TEMPLATE_COMMENT = re.compile(r"{#.*?#}|{% comment %}.*?{% endcomment %}", re.DOTALL)
MARKDOWN_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
DIVIDED = re.compile(r"\"\s*[rf]?\"")
SCRIPT_COMMENT = re.compile(r"/\*.*?\*/|(?:^|(?<=\s))//[^\n]*", re.DOTALL)
SCRIPT_TEXT = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|`(?:[^`\\]|\\.)*`")

Texts = Iterator[tuple[int, str]]


def phrases() -> list[str]:
    """The left column of the table, which is the only declaration."""
    rows = [found["phrases"] for found in ROW.finditer(sources.text_of(STYLE))]
    return [phrase.strip() for row in rows[1:] for phrase in row.split(",")]


def pattern_of(phrase: str) -> str:
    """Words between any white space; `…` is any ending. "There is no" is right where "it is no" is not."""
    words = r"\s+".join(re.escape(word).replace("…", r"\w*") for word in phrase.split())
    return rf"{words}(?<!there\s{phrase})(?!\s+(?:longer|more)\b)" if phrase.endswith(" no") else words


# In lower case, as the texts are made: ignoring the case would take three times as long.
OLD = re.compile(rf"\b(?:{'|'.join(map(pattern_of, phrases()))})\b")


QUIRK = re.compile(rf"\b(?:{'|'.join(map(pattern_of, NOT_IN_DOCSTRINGS))})\b")


def blanked(text: str, unseen: re.Pattern[str]) -> str:
    """Without what nobody sees, but with its lines, so that the others keep their numbers."""
    return unseen.sub(lambda found: "\n" * found[0].count("\n"), text)


def messages_of(source: str) -> Texts:
    """The literals of a module that have a space: sentences, as opposed to keys, codes and names."""
    tree = ast.parse(source)
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, SPEECH) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and " " in node.value
            and id(node) not in docs
        ):
            yield node.lineno, node.value


def texts_of(name: str, text: str) -> Texts:
    if name.endswith(".py"):
        # A module whose text has no phrase is not parsed. Literals that the line's end divides are one.
        if OLD.search(DIVIDED.sub("", text.lower())):
            yield from messages_of(text)
    elif name.endswith(".js"):
        shown = blanked(text, SCRIPT_COMMENT)
        yield from ((1 + shown.count("\n", 0, found.start()), found[0][1:-1]) for found in SCRIPT_TEXT.finditer(shown))
    elif name.endswith(".md"):
        yield 1, blanked(text, MARKDOWN_COMMENT)
    else:
        yield 1, blanked(text, TEMPLATE_COMMENT)


def old_phrases(name: str, text: str) -> list[str]:
    return [
        f"{name}:{line + shown.count(chr(10), 0, found.start())}: {' '.join(found[0].split())}"
        for line, literal in texts_of(name, text)
        for shown in [blanked(literal, INLINE_CODE).lower()]
        for found in OLD.finditer(shown)
    ]


def topmost_section(changelog: str) -> str:
    start = changelog.index("\n## ")
    return changelog[: changelog.find("\n## ", start + 1)] if changelog.count("\n## ") > 1 else changelog


def files() -> list[Path]:
    docs = sources.CHECKOUT / "docs"
    return [
        *sources.templates(),
        *(path for path in sources.python_files("apps", "registry_site") if "migrations" not in path.parts),
        *(sources.CHECKOUT / "static" / "js").rglob("*.js"),
        *(path for path in docs.rglob("*.md") if docs / "maintain" not in path.parents),
        sources.CHECKOUT / "README.md",
    ]


def test_people_read_none_of_the_old_phrases():
    found = [hit for path in files() for hit in old_phrases(sources.name_of(path), sources.text_of(path))]
    changelog = topmost_section(sources.text_of(sources.CHECKOUT / "CHANGELOG.md"))
    assert found + old_phrases("CHANGELOG.md", changelog) == []


def faults_of_docstrings(name: str, source: str) -> list[str]:
    found = []
    for docstring in TRIPLE_QUOTED.finditer(source):
        if docstring["is_doc"] is None:
            continue
        text, line = docstring["text"], 1 + source.count("\n", 0, docstring.start())
        if first := NO_FIRST_WORD.match(text):
            found.append(f"{name}:{line}: begins with {first[0]}")
        # A name in capitals is a constant.
        lowered = CONSTANT.sub("", blanked(text, INLINE_CODE)).lower()
        found += [f"{name}:{line}: {' '.join(one[0].split())}" for one in QUIRK.finditer(lowered)]
    return found


def test_docstrings_begin_with_what_a_thing_is_or_does():
    paths = sources.python_files("apps", "registry_site", "bin", "bench")
    found = [
        hit
        for path in paths
        if "migrations" not in path.parts  # a landed one never changes
        for hit in faults_of_docstrings(sources.name_of(path), sources.text_of(path))
    ]
    assert found == []


@for_each_row(
    ("text", "fault"),
    [
        ("Whether it may.", "begins with Whether"),
        ("As in SQL, a list.", "begins with As"),
        ("Return it for somebody who asks.", "somebody"),
        ("Return it.\n\nThe caller goes\non.", "goes on"),
    ],
)
def test_a_fault_of_a_docstring_is_found_on_its_line(text, fault):
    source = f'class A:\n    """{text}"""\n\n    """Right."""\n'
    assert faults_of_docstrings("a.py", source) == [f"a.py:2: {fault}"]


@for_each_row("text", ["The asker, or NOBODY.", "A row of `whoever`.", "Assert it.", "Whose"])
def test_a_right_docstring_has_no_fault(text):
    assert faults_of_docstrings("a.py", f'def f():\n    """{text}"""\n    x = """\nnobody\n"""\n') == []


@for_each_row(
    ("name", "text"),
    [
        ("a.html", '<p title="{{ title }}">\nThe secret that nobody\n  stored</p>'),
        ("a.html", '{% callout %}x\n{% include "b.html" with words="Nobody" %}'),
        ("a.txt", "Hello,\nsomebody else did it."),
        ("a.py", "def f():\n    raise Invalid(f'{a} and nobody {b}')"),
        ("a.py", 'x = 1\ny = ("It goes "\n  f"on like {x}")'),
        ("a.js", '// nobody\nalert("It is no longer seen by anybody")'),
        ("a.js", "/* somebody\n*/ alert(`${a} is no archive`)"),
        ("a.md", "# Title\nTo mend\nit, wait."),
        ("a.md", "- It is not\n- allowed any\n  more."),
    ],
)
def test_an_old_phrase_is_found_on_its_line(name, text):
    assert [hit.rsplit(": ", 1)[0] for hit in old_phrases(name, text)] == [f"{name}:2"]


@for_each_row(
    ("name", "text"),
    [
        ("a.html", "{# for nobody #}<p>There is no module, and it is no longer listed.</p>"),
        ("a.py", '"""For nobody."""\nCHOICES = {"nobody": 1}  # whoever asks'),
        ("a.js", 'const at = "https://a.example/"; // by itself'),
        ("a.md", "Set it to `nobody`. <!-- run by anybody -->"),
    ],
)
def test_what_no_person_reads_may_say_anything(name, text):
    assert old_phrases(name, text) == []


def test_the_table_has_the_phrases():
    assert {"nobody", "mend…", "is no", *NOT_IN_DOCSTRINGS} < set(phrases())


def test_only_the_topmost_section_of_the_changelog_counts():
    assert topmost_section("# Changelog\n\n## 2\nnew\n\n## 1\nold\n") == "# Changelog\n\n## 2\nnew\n"
