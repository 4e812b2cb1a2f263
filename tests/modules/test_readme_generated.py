"""READMEs: code in colours, what terraform-docs wrote in a fold, and a list of contents where they are long."""

import re
import time

import pytest

from apps.lib.markdown import rendering
from apps.lib.text import highlighting
from apps.modules.contents import readme
from tests.rows import for_each_row

AT = "/modules/acme/vpc/aws/1.0.0"
TABLE = "| Name | Description |\n|------|-------------|\n| cidr | The range |\n"
SECTIONS = f"## Requirements\n\nNone.\n\n## Inputs\n\n{TABLE}\n## Outputs\n\nNone.\n"


def rendered(text, base=""):
    return readme.render(text.encode(), prefix=AT, base=base, files=["README.md"])


def generated(text, begin="BEGIN_TF_DOCS", end="END_TF_DOCS"):
    return f"# VPC\n\nMakes a VPC.\n\n<!-- {begin} -->\n{text}\n<!-- {end} -->\n\n## Authors\n\nUs.\n"


@for_each_row("label", ["hcl", "terraform", "HCL title=main", "{.tf}"])
def test_code_has_the_colours_of_files(label):
    text = 'module "vpc" {\n  cidr = "10.0.0.0/16" # <all>\n}'
    shown = rendered(f"```{label}\n{text}\n```\n")
    assert "\n".join(highlighting.highlighted(text, "hcl")).replace("&quot;", '"') in shown
    for name in ("keyword", "string", "comment"):
        assert f'<span class="hl-{name}">' in shown
    assert "&lt;all&gt;" in shown


@for_each_row("label", ["", "console", "brainfuck", '"><script>alert(1)</script>'])
def test_code_in_no_known_language_stays_plain(label):
    shown = rendered(f"```{label}\nmodule <b>\n```\n")
    assert "module &lt;b&gt;" in shown
    assert "<span" not in shown
    assert "<script" not in shown


def test_only_so_much_of_a_text_is_coloured():
    block = "```hcl\nmodule {} # the same again\n```\n\n"
    coloured = rendered(block * 4000).count("hl-keyword")
    assert 0 < coloured <= rendering.MAX_CODE_CHARACTERS // len("module {} # the same again\n")
    assert rendering.Budget(end=time.monotonic() - 1).seconds_for("module {}") == 0, "nor is there time for all"


@for_each_row(
    ("begin", "end"),
    [
        ("BEGIN_TF_DOCS", "END_TF_DOCS"),
        ("BEGIN_AUTOMATED_TF_DOCS_BLOCK", "END_AUTOMATED_TF_DOCS_BLOCK"),
        ("BEGINNING OF PRE-COMMIT-TERRAFORM DOCS HOOK", "END OF PRE-COMMIT-TERRAFORM DOCS HOOK"),
        ("BEGINNING OF PRE-COMMIT-OPENTOFU DOCS HOOK", "END OF PRE-COMMIT-OPENTOFU DOCS HOOK"),
    ],
)
def test_what_was_generated_is_folded_with_the_way_to_the_tabs(begin, end):
    shown = rendered(generated(SECTIONS, begin, end))
    before, _, rest = shown.partition("<details>")
    inside, _, after = rest.partition("</details>")
    assert "Makes a VPC." in before
    assert "<summary>Generated reference: Requirements, Inputs, Outputs</summary>" in inside
    for part in (f'href="{AT}/inputs"', f'href="{AT}/outputs"', "The range", 'id="user-content-inputs"'):
        assert part in inside
    assert "Authors" in after
    assert "<details" not in after
    below = rendered(generated(SECTIONS, begin, end), base="modules/subnets")
    assert "<details>" in below
    assert "/inputs" not in below, "a submodule has no such tabs"


def test_of_a_readme_that_was_generated_whole_only_the_known_sections_are_folded():
    shown = rendered(generated(f"## What it does\n\nNets.\n\n{SECTIONS}\n## Data Collection\n\nSome."))
    before, _, rest = shown.partition("<details>")
    inside, _, after = rest.partition("</details>")
    assert "Nets." in before
    assert "The range" in inside
    assert "Data Collection" in after


@for_each_row(
    "text",
    [
        SECTIONS,
        f"<!-- BEGIN_TF_DOCS -->\n{SECTIONS}",
        f"<!-- END_TF_DOCS -->\n{SECTIONS}\n<!-- BEGIN_TF_DOCS -->",
        generated("Nothing of the kind."),
        f"- a list\n\n  <!-- BEGIN_TF_DOCS -->\n\n  {TABLE}\n\n  <!-- END_TF_DOCS -->\n",
        "<!-- BEGIN_TF_DOCS -->\n<!-- END_TF_DOCS -->\n",
    ],
)
def test_without_both_marks_around_known_sections_nothing_is_folded(text):
    shown = rendered(text)
    assert "<details" not in shown
    assert "TF_DOCS" not in shown


def test_a_long_readme_has_a_list_of_contents():
    text = "# VPC\n\n" + "".join(
        f"## Part {number} & `code`\n\n{'words ' * 300}\n\n### Detail {number}\n\n#### Deep\n\n" for number in range(3)
    )
    shown = rendered(f"{text}<details>\n\n## Hidden\n\n</details>\n")
    found = readme.headings(shown)
    assert [(one.text, one.is_below) for one in found[:2]] == [("Part 0 & code", False), ("Detail 0", True)]
    assert len(found) == 6
    for one in found:
        assert re.search(f'<h[34] id="{re.escape(one.anchor)}">', shown)
    assert readme.headings(rendered("# VPC\n\n## Usage\n")) == []
    assert readme.headings(rendered("words " * 2000)) == []


@pytest.mark.slow
def test_reading_the_contents_takes_no_square_of_time():
    assert readme.headings('<h3 id="a">' * 100_000) == []
    assert readme.headings("<details>" * 100_000) == []
