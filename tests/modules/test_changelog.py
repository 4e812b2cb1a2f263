"""apps.modules.contents.changelog: the section of one version."""

from apps.modules.contents import changelog
from apps.modules.models import ModuleVersion
from tests import pages
from tests.builders.archives import MODULE, module_zip
from tests.rows import for_each_row

KEPT = """# Changelog

## [Unreleased]

- Not yet.

## [1.2.0] - 2026-05-04

### Added

- An input, see [#12] and [other].

```hcl
# 9.9.9 is no heading
```

## [1.1.0]

- Much earlier.

[1.2.0]: https://example.com/compare/1.2.0
[#12]: https://example.com/12
"""


@for_each_row(
    ("text", "version", "expected"),
    [
        (KEPT, "1.1.0", "- Much earlier.\n\n[1.2.0]: https://example.com/compare/1.2.0\n[#12]: https://example.com/12"),
        (KEPT, "1.3.0", ""),
        ("## 1.2.0-rc.1\n\nCandidate\n\n# v1.2.0\n\nFinal\n", "1.2.0", "Final"),
        ("## 1.2.0-rc.1\n\nCandidate\n\n# v1.2.0\n\nFinal\n", "1.2.0-rc.1", "Candidate"),
        ("## 1.2.0\n\nWith a build.\n", "1.2.0+7", "With a build."),
        # As standard-version writes it: a patch, and its parts, on one level.
        (
            "### [1.2.1](https://x) (2026-01-01)\n\n### Fixes\n\n- One\n\n## 1.2.0\n",
            "1.2.1",
            "### Fixes\n\n- One",
        ),
        ("Release 1.2.0\n-------------\n\nUnderlined\n\n1.1.0\n-----\n", "1.2.0", "Underlined"),
        ("## 11.2.0\n\nNo.\n", "1.2.0", ""),
        ("## Support for 1.2.0\n\nNo.\n", "1.2.0", ""),
        ("~~~\n## 1.2.0\n~~~\n\nText\n", "1.2.0", ""),
        ("# A\n\n## 1.2.0\n\nIt.\n\n# Before the rewrite\n\nNo.\n", "1.2.0", "It."),
        ("## 1.2.0\r\n\r\nWindows\r\n", "1.2.0", "Windows"),
        ("", "1.2.0", ""),
    ],
)
def test_the_section_is_found_by_its_number(text, version, expected):
    if text == KEPT and version == "1.1.0":  # what is below the last version belongs to it
        assert changelog.section_of(text, version).startswith("- Much earlier.")
    else:
        assert changelog.section_of(text, version) == expected


def test_links_that_a_section_names_come_with_it():
    section = changelog.section_of(KEPT, "1.2.0")

    assert section.startswith("### Added")
    assert section.endswith("[#12]: https://example.com/12")
    assert "Much earlier" not in section
    assert "[1.2.0]:" not in section


def test_a_long_section_is_cut_and_hostile_text_is_harmless():
    section = changelog.section_of("## 1.2.0\n\n" + "- line\n" * 20_000, "1.2.0")
    html = changelog.render(b"## 1.2.0\n\n### A\n\n<script>alert(1)</script>", "1.2.0", prefix="", files=())

    assert len(section) < changelog.MAX_CHARACTERS + 10
    assert section.endswith("…")
    assert "<script" not in html
    assert "id=" not in html


def test_the_page_of_a_version_shows_its_own_section(published, browser_of, bob):
    later = KEPT.replace("1.2.0", "1.3.0")
    for version, name, text in (("1.2.0", "CHANGELOG.md", KEPT), ("1.3.0", "Changelog.md", later), ("1.4.0", "C", "")):
        published(version=version, data=module_zip({**MODULE, name: text}))
    browser = browser_of(bob)
    for version, name in (("1.2.0", "CHANGELOG.md"), ("1.3.0", "Changelog.md")):
        shown = pages.markup_of(browser.get(f"/modules/acme/vpc/aws/{version}"))
        assert f"What's new in {version}" in shown
        assert "An input, see" in shown
        assert "Much earlier" not in shown
        assert f'href="/modules/acme/vpc/aws/{version}/files/{name}"' in shown
    assert "What's new" not in pages.shown(browser.get("/modules/acme/vpc/aws/1.4.0"))

    older = ModuleVersion.objects.get(release__version="1.2.0")
    del older.inspection["changelog"]
    older.save()
    assert "What's new" not in pages.shown(browser.get("/modules/acme/vpc/aws/1.2.0")), "an older Larder read none"
