"""READMEs are rendered in sandboxed children: to the same HTML as here, several at once, at no risk to a publish."""

from apps.lib.archives.sandboxed import Entry, Listing
from apps.lib.sandbox import parent
from apps.modules.contents import extraction, readme, readmes
from tests.rows import for_each_row

# Whatever the renderer might load late: codecs, entities, lexers.
FENCES = "".join(f'```{language}\na = "b" # c\n{{}}\n```\n\n' for language in ("hcl", "sh", "json", "md", "yaml", "go"))
EVERYTHING = f"""
[![badge](https://example.com/b.svg)](https://example.com)

# A module &auml;

The **first** paragraph of [bücher](https://bücher.example/ü?q=ö) and <https://xn--bcher-kva.example/>.

> [!NOTE]
> An alert with a footnote[^1] and [a file](main.tf).

| a | b |
|---|--:|
| `x` | ~~y~~ |

- [x] done

[^1]: The note.

<details><summary>More</summary>

{FENCES}
</details>
""".encode()
PREFIX = "/modules/acme/vpc/aws/1.0.0"


def listing(texts: dict[str, bytes]) -> Listing:
    entries = tuple(Entry(name, len(text), 0o644, is_dir=False) for name, text in texts.items())
    return Listing("sha256:0", 1, entries, texts, 1, "zip", ())


def rendered(texts: dict[str, bytes]) -> readmes.Readmes:
    found = listing(texts)
    with readmes.rendering(found, sorted(texts), PREFIX) as pages:
        pass
    return pages


def test_a_child_that_can_open_nothing_renders_what_this_process_does():
    texts = {"main.tf": b"", "README.md": EVERYTHING, "modules/a/main.tf": b"", "modules/a/README.md": EVERYTHING}

    found = rendered(texts)

    for folder, source in found.sources.items():
        html = readme.render(source, prefix=PREFIX, base=folder, files=frozenset(texts))
        assert found.pages[folder] == (html, readme.summary(source))
        assert "hl-" in html
        assert "xn--bcher-kva" in html
    assert set(found.pages) == {"", "modules/a"}
    assert found.was_rendered


def test_much_text_is_shared_among_several_children(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    asked: list[list[str]] = []
    ask = parent.run

    def run(**fields):
        asked.append([folder for folder, _, _ in fields["request"]["readmes"]])
        return ask(**fields)

    monkeypatch.setattr(parent, "run", run)
    folders = [f"modules/m{number}" for number in range(20)]
    texts = {f"{folder}/main.tf": b"" for folder in folders}
    texts |= {f"{folder}/README.md": f"# {folder}\n\nThe module {folder}.\n".encode() * 400 for folder in folders}

    found = rendered(texts)

    assert len(asked) == 3
    assert sorted(folder for share in asked for folder in share) == sorted(folders)
    assert all(f"The module {folder}." in found.pages[folder][1] for folder in folders)


@for_each_row("error", [parent.CheckBroken("killed"), parent.TooExpensive("too much memory")], ids=str)
def test_a_child_that_fails_costs_the_readmes_and_leaves_them_to_reinspection(monkeypatch, error):
    def run(**fields):
        raise error

    monkeypatch.setattr(parent, "run", run)

    found = rendered({"main.tf": b"", "README.md": b"# A module\n"})

    assert not found.was_rendered
    assert found.pages == {}


def test_only_the_readmes_of_modules_are_rendered_and_only_while_there_is_room(monkeypatch):
    monkeypatch.setattr(readmes, "MAX_README_BYTES", 25)
    texts = {
        "main.tf": b"",
        "README.md": b"x" * 100,
        "docs/README.md": b"of no module",
        "modules/a/deep/main.tf": b"",
        "modules/a/deep/README.md": b"a" * 20,
        "modules/b/main.tf": b"",
        "modules/b/README.md": b"b" * 20,
    }

    assert set(rendered(texts).pages) == {"", "modules/b"}, "a folder near the root counts more"
    texts = {"main.tf": b'variable "a" {}\n', "README.md": b"# A module\n"}
    assert extraction.inspect(listing(texts)).readmes.pages == {}, "questions about an archive alone render nothing"
    assert set(extraction.inspect(listing(texts), PREFIX).readmes.pages) == {""}
