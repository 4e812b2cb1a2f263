"""The page that shows READMEs and configuration files of two versions line by line."""

import re

import pytest

from apps.lib.text import diffs
from apps.lib.text.diffs import Effort
from apps.modules.comparing import versions
from apps.modules.models import ModuleVersion
from tests.builders.archives import module_zip

PAGE = "/modules/acme/vpc/aws/compare/1.2.0...1.3.0/files"
HOSTILE = "<script>alert(1)</script>\u202e\x1b[31m"
BEFORE = {
    "main.tf": 'variable "name" {\n  type = string\n}\n',
    "README.md": "# Old\n",
    "same.tf": "# the same\n",
    "equal-size.tf": "# 1\n",
    "logo.png": "a",
    "ends.tf": "# a\n",
}
AFTER = BEFORE | {
    "main.tf": f'variable "name" {{\n  type = string\n}}\n# {HOSTILE}\n',
    "README.md": "# New\n",
    "equal-size.tf": "# 2\n",
    "logo.png": "b",
    "ends.tf": "# a\r\n",
}


@pytest.fixture
def publish_two(published):
    def publish(before, after):
        published(version="1.2.0", data=module_zip(before))
        published(version="1.3.0", data=module_zip(after))

    return publish


def rows(answer):
    found = re.findall(r"<tr[^>]*>(.*?)</tr>", answer.content.decode(), re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in found]


def test_each_changed_text_is_shown_line_by_line_and_the_readme_first(
    publish_two, browser_of, bob, django_assert_max_num_queries
):
    publish_two(BEFORE, AFTER)
    client = browser_of(bob)
    with django_assert_max_num_queries(14):
        answer = client.get(PAGE)

    assert answer.status_code == 200
    assert [one.name for one in answer.context["texts"].shown] == ["README.md", "ends.tf", "equal-size.tf", "main.tf"]
    assert answer.context["texts"].others == ["logo.png"]
    assert {"1 - # Old", "1 + # New", "1 - # 1", "1 + # 2", "1 1 variable &quot;name&quot; {"} <= set(rows(answer))
    assert "Only line endings differ." in answer.content.decode()
    assert "<script>alert(1)" not in answer.content.decode()
    assert r"4 + # &lt;script&gt;alert(1)&lt;/script&gt;\u202e\u001b[31m" in rows(answer)  # and nothing is reordered
    assert f'href="{PAGE}"' in client.get(PAGE.removesuffix("/files")).content.decode()


def test_the_api_names_files_of_the_same_size_except_of_what_an_older_larder_read(publish_two, tofu, bob):
    def changed():
        return tofu(bob).get("/api/v1/modules/acme/vpc/aws/compare/1.2.0...1.3.0").json()["files"]["changed"]

    publish_two(BEFORE, AFTER)
    assert changed() == ["README.md", "ends.tf", "equal-size.tf", "logo.png", "main.tf"]
    old = ModuleVersion.objects.get(release__version="1.2.0")
    for row in old.files:
        del row["crc"]
    old.save()
    assert changed() == ["ends.tf", "main.tf"]


def test_what_is_too_much_for_a_page_is_named(publish_two, browser_of, bob, monkeypatch):
    many = {f"f{number}.tf": f"# {number}\n" for number in range(3)}
    large = {"large.tf": "# large\n" * 20_000, "other.tf": "\n".join(f"# {number}" for number in range(900)), **many}
    after = {name: text.replace("#", "//") for name, text in large.items()}
    monkeypatch.setattr(versions, "MAX_FILES", 4)
    monkeypatch.setattr(diffs, "Effort", lambda: Effort(5_000))
    publish_two(large, after)
    found = browser_of(bob).get(PAGE).context["texts"]
    problems = {one.name: one.problem for one in found.shown}

    assert list(problems) == ["f0.tf", "f1.tf", "f2.tf", "large.tf"]
    assert found.left_out == 1
    assert problems["f0.tf"] == ""
    assert "Too large" in problems["large.tf"]
    monkeypatch.setattr(versions, "MAX_FILES", 5)
    problems = {one.name: one.problem for one in browser_of(bob).get(PAGE).context["texts"].shown}
    assert "too different" in problems["other.tf"]


def test_many_lines_end_the_page(publish_two, browser_of, bob, monkeypatch):
    monkeypatch.setattr(versions, "MAX_LINES", 2)
    publish_two(BEFORE, AFTER)
    shown = browser_of(bob).get(PAGE).context["texts"].shown

    assert [bool(one.hunks) for one in shown] == [True, False, False, False]
    assert "the page is full" in shown[-1].problem
