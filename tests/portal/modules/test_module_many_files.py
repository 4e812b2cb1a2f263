"""A version of more files than its pages list: what they link to is there, and they say how many there are"""

import re

import pytest

from tests import pages
from tests.builders.archives import MODULE, module_zip

AT = "/modules/acme/vpc/aws/1.0.0"
README = "# Inner\n\n[root](../../main.tf) [one](../../a/f0000.txt) [last](../../a/f2099.txt) [next](zz.txt)\n"
FILES: dict[str, str | bytes] = {
    **MODULE,
    "modules/zone/main.tf": 'variable "zone" {}\n',
    "modules/zone/README.md": README,
    "modules/zone/zz.txt": "last by name\n",
    "examples/full/main.tf": 'module "vpc" {\n  source = "../.."\n}\n',
    "zz.txt": "the last at the root\n",
    **{f"a/f{number:04}.txt": "x" for number in range(2_100)},
}


@pytest.mark.slow
def test_what_pages_link_to_is_there_and_the_true_number_is_said(browser_of, bob, published):
    published("acme/vpc/aws", "1.0.0", data=module_zip(FILES))
    ask = browser_of(bob).get
    for tab in ("", "/inputs", "/outputs", "/resources", "/submodules/zone", "/examples/full", "/files"):
        for link in set(re.findall(rf'href="({AT}/files[^"#]*)', pages.shown(ask(f"{AT}{tab}")))):
            assert ask(link).status_code == 200, (tab, link)

    for path in ("main.tf", "zz.txt", "modules/zone/main.tf", "examples/full/main.tf", "a/f0000.txt"):
        assert ask(f"{AT}/files/{path}").status_code == 200, path
    assert ask(f"{AT}/files/a/f2099.txt").status_code == 404

    count, files = len(FILES), pages.shown(ask(f"{AT}/files"))
    page = pages.shown(ask(f"{AT}/submodules/zone"))

    assert f"These are the first 2,000 of {count:,} files" in files
    assert f"{count} files</dd>" in pages.shown(ask(AT))
    assert re.search(rf"{count}</span></a>", files)
    assert f'href="{AT}/files/a/f0000.txt"' in page
    assert "files/a/f2099.txt" not in page
    assert "files/modules/zone/zz.txt" not in page
