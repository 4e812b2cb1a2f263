"""The browser's rules for files of a folder are the server's."""

import pytest

from apps.lib.archives import layouts
from tests.lib.archives.test_private_keys import KEYS, PLACEHOLDERS

pytestmark = pytest.mark.live


def test_the_browser_leaves_out_what_the_server_leaves_out(page):
    page.goto("/publish")
    names = [
        *(".git/HEAD", "a/.GIT/config", ".gitignore", ".git", ".terraform", ".terraform.lock.hcl", "x/.terraform/y"),
        *("terraform.tfstate", "a/prod.TFSTATE", "terraform.tfstate.backup", "t.tfstate.1700000000.backup"),
        *("about.tfstate.md", ".terraform.tfstate.lock.info", "terraform.tfstate.d/dev/x", "tfstate"),
        *("__MACOSX/x", "._main.tf", ".DS_Store", "a/Thumbs.db", "thumbs.db.md", "main.tf", ".hidden.tf"),
    ]
    script = """async (names) => {
      const { isState, leftOut, moduleFolders } = await import("/static/js/upload/rules.js");
      return names.map((name) => [leftOut(name) !== "", isState(name), moduleFolders([name]).length > 0]);
    }"""
    server = [[layouts.is_left_out(name), layouts.is_state(name), layouts.is_module_file(name)] for name in names]
    flat = [[out, state, module and "/" not in name] for name, (out, state, module) in zip(names, server, strict=True)]
    assert page.evaluate(script, names) == flat


def test_the_browser_takes_for_a_key_what_the_server_does(page):
    page.goto("/publish")
    texts = {**KEYS, **PLACEHOLDERS}
    script = """async (texts) => {
      const { holdsKey } = await import("/static/js/upload/rules.js");
      return texts.map(holdsKey);
    }"""
    assert dict(zip(texts, page.evaluate(script, list(texts.values())), strict=True)) == {
        **dict.fromkeys(KEYS, True), **dict.fromkeys(PLACEHOLDERS, False), "a key too far down": True,
    }  # fmt: skip
