"""From nothing to a private module in CI, as a new user gets there: the front page, its links, and what the help says.

The commands, the words on links and the secret's name are those of the rendered pages. What a reader brings along is
here: names, a module, and the sense to write `terraform` where the help has `tofu`. The README's own commands are those
of tests/site/startup/test_make.py.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_login import person
from tests.live import Live, start_live

pytestmark = [pytest.mark.live, pytest.mark.needs("chromium-headless-shell", "curl", "git", "linux", "terraform")]
expect.set_options(timeout=20_000)  # as patient as tests/browser
NAMESPACE, TEAM = "kitchen", "cooks"
AUTHOR = {f"GIT_{who}_{what}": "alice@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
MODULE = 'output "greeting" {\n  value = "hello from the kitchen"\n}\n'
# The commands, tables and lists between a heading of the help and the next one.
BELOW = """([page, heading]) => {
  const all = [...document.querySelectorAll(".prose > *")];
  const start = all.findIndex((one) => /^H\\d$/.test(one.tagName) && one.innerText.trim() === heading);
  if (start < 0) throw new Error(`${page} has no section ${heading}`);
  const next = all.findIndex((one, at) => at > start && /^H\\d$/.test(one.tagName));
  const part = all.slice(start + 1, next < 0 ? all.length : next);
  const inside = (selector) =>
    part.flatMap((one) => (one.matches(selector) ? [one] : [...one.querySelectorAll(selector)]));
  const words = (one, tag) => [...one.querySelectorAll(tag)].map((word) => word.innerText);
  return {
    text: part.map((one) => one.innerText).join("\\n"),
    blocks: inside("pre").map((one) => one.textContent),
    rows: inside("tr").map((one) => [...one.cells].map((cell) => cell.innerText.trim())),
    steps: inside("ol > li").map((one) => {
      return { press: words(one, "strong"), choose: words(one, "em"), code: words(one, "code") };
    }),
  };
}"""


@dataclass(frozen=True)
class Section:
    text: str
    blocks: list[str]
    rows: list[list[str]]
    steps: list[dict[str, list[str]]]


@dataclass
class Desk:
    """Two tabs of one browser: the help in one, the registry in the other."""

    help: Page
    portal: Page
    example_host: str = ""
    host: str = ""

    def open_help(self, title: str, start: str = "/") -> None:
        self.help.goto(start)
        self.help.get_by_role("contentinfo").get_by_role("link", name="Docs", exact=True).click()
        self.help.get_by_role("main").get_by_role("link", name=title, exact=True).first.click()
        expect(self.help.get_by_role("heading", level=1)).to_have_text(title)
        # The page says which host its examples have, and which one to write.
        self.example_host, self.host = self.help.locator(".page-head__lead code").all_inner_texts()

    def section(self, heading: str) -> Section:
        return Section(**self.help.evaluate(BELOW, [self.help.url, heading]))

    def filled(self, command: str, **more: str) -> str:
        """With this registry's host, the new namespace, and `more` in place of what else the help made up."""
        for example, mine in {self.example_host: self.host, "acme/": f"{NAMESPACE}/", **more}.items():
            command = command.replace(example, mine)
        return command

    def press(self, name: str) -> None:
        """A link of the page or, if it is not there, of the menu of the account."""
        link = self.portal.get_by_role("main").get_by_role("link", name=name, exact=True)
        if not link.count():
            self.portal.locator("header summary").last.click()
            link = self.portal.get_by_role("banner").get_by_role("link", name=name, exact=True)
        link.first.click()

    def go_home(self) -> None:
        self.portal.get_by_role("banner").get_by_role("link", name="Larder", exact=True).click()


@dataclass
class Machine:
    """An empty home, a folder to work in, and no more of this machine than its programs."""

    home: Path

    def __post_init__(self) -> None:
        self.work.mkdir(parents=True)

    @property
    def work(self) -> Path:
        return self.home / "work"

    def run(self, text: str, environment: Mapping[str, str] = MappingProxyType({}), *, status: int = 0) -> str:
        """Return the output of bash, which ends with the first failure as a pipeline does."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self.work,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "CHECKPOINT_DISABLE": "1", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == status, f"{text}\n{done.stdout}"
        return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """With a password of its own, so that it begins with no one's data."""
    with start_live(
        tmp_path_factory.mktemp("nothing"), why="it begins with nobody's data", LARDER_ADMIN_PASSWORD="damson cheese"
    ) as larder:
        larder.admin_password = "damson cheese"
        yield larder


@pytest.fixture
def desk(registry: Live) -> Iterator[Desk]:
    """Alice has started Larder and signs in as make run's last line says."""
    with person(registry) as page:
        page.goto("/")
        page.get_by_role("banner").get_by_role("link", name="Sign in").click()
        page.get_by_label("User name").fill("admin")
        page.get_by_label("Password", exact=True).fill(registry.admin_password)
        page.get_by_role("button", name="Sign in", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Good to see you")
        yield Desk(page.context.new_page(), page)


def make_a_namespace(desk: Desk, new: str) -> None:
    """Create a namespace from the first home page; it is private unless something else is chosen."""
    desk.press(new)
    desk.portal.get_by_label("Name").fill(NAMESPACE)
    desk.portal.get_by_role("button", name="Create the namespace").click()


def make_a_team(desk: Desk, step: dict[str, list[str]]) -> None:
    """By the words that the help prints in bold and in italics."""
    teams, create, members = step["press"]
    desk.press(teams)
    desk.press(create)
    desk.portal.get_by_label("Name").fill(TEAM)
    desk.portal.get_by_role("button", name="Create the team").click()

    role, form = step["choose"]
    desk.go_home()
    desk.press(NAMESPACE)
    desk.press(members)
    give = desk.portal.locator("form").filter(has=desk.portal.get_by_label("Team", exact=True))
    expect(desk.portal.get_by_role("heading", name=form)).to_be_visible()
    give.get_by_label("Team").fill(TEAM)
    give.get_by_label("Role").select_option(label=role)
    give.get_by_role("button", name="Give the role").click()


def make_a_token(desk: Desk, account: str, press: list[str], scope: str) -> str:
    """A service account and its token, as the help describes both; answers the secret."""
    (new,) = press
    desk.press("Teams")
    desk.press(TEAM)
    desk.press(new)
    desk.portal.get_by_label("Name").fill(account)
    desk.portal.get_by_role("button", name="Create", exact=True).click()
    desk.portal.get_by_label("Label").fill("CI")
    desk.portal.get_by_label(f"{scope}:").check()
    desk.portal.get_by_label(NAMESPACE).check()
    desk.portal.get_by_role("button", name="Create the token").click()
    secret = desk.portal.get_by_role("region", name="Token", exact=True).inner_text()
    assert secret.startswith("lrd_s_")
    return secret


def authority_of(desk: Desk) -> str:
    desk.portal.get_by_role("banner").get_by_role("link", name="Docs", exact=True).click()
    desk.portal.get_by_text("The authority's certificate").click()
    return desk.portal.get_by_role("region", name="Certificate of the authority").inner_text()


def publish(desk: Desk, alice: Machine) -> str:
    """Follow the help on pipelines and stored tokens, until the version is there; answers the authority."""
    desk.open_help("Publish from a pipeline")
    make_a_namespace(desk, desk.section("Set it up").steps[0]["press"][1])
    desk.open_help("Publish with a stored token")
    first = desk.section("Set it up")
    make_a_team(desk, first.steps[0])
    token = make_a_token(desk, "alice", first.steps[1]["press"], first.steps[2]["choose"][0])
    authority = authority_of(desk)
    ((variable, trusted),) = re.findall(r"set (\w+)=(\S+\.pem)", first.text)
    (alice.work / trusted).write_text(authority)
    (download,) = re.findall(r"add (--cacert \S+) to", first.text)

    lines = desk.section("Any shell").blocks[0].splitlines()
    said_of_module = [line for line in lines if "/dns" not in line]
    (tag,) = re.findall(r"/vpc/aws ([\d.]+)$", said_of_module[-1])
    (alice.work / "main.tf").write_text(MODULE)
    alice.run("git init -q && git add main.tf && git commit -qm 'A module'", AUTHOR)
    text = desk.filled("\n".join(said_of_module), **{"lrd_s_…": token}).replace("curl ", f"curl {download} ")
    said = alice.run(text, {variable: trusted})

    assert f"Published {NAMESPACE}/vpc/aws {tag}" in said
    return authority


@dataclass(frozen=True)
class Pipeline:
    """The instructions of "Use modules and providers" about installing in one."""

    configuration: str
    trust: str
    init: str
    who_am_i: str
    bundle_of_curl: str
    refusal: str


def read_how_to_install(desk: Desk) -> Pipeline:
    desk.help.get_by_role("link", name="Install in a pipeline").first.click()
    expect(desk.help.get_by_role("heading", level=1)).to_have_text("Use modules and providers")
    section = desk.section("Install in a pipeline")
    (by_file,) = [block for block in section.blocks if "credentials" in block]  # this registry's host has a port
    (who_am_i,) = [block for block in section.blocks if "curl" in block]
    authority = desk.section("Trust the certificate")
    (bundle_of_curl,) = re.findall(r"set (\w+) to the same file", authority.text)
    (refusal,) = [row[0] for row in desk.section("When it fails").rows if "sent no token" in row[1]]
    return Pipeline(
        desk.filled(desk.section("Install a module").blocks[0]),
        dict(authority.rows)["Linux, one shell"],
        desk.filled(by_file, **{"tofu ": "terraform "}),
        desk.filled(who_am_i),
        bundle_of_curl,
        refusal,
    )


def the_browser_of_charlie_finds_nothing(desk: Desk, registry: Live) -> None:
    browser = desk.portal.context.browser
    assert browser is not None
    context: Any = browser.new_context(ignore_https_errors=True, base_url=registry.url)
    page = context.new_page()
    page.goto("/modules")
    expect(page.get_by_role("main")).to_contain_text("demo/hello/local")
    expect(page.get_by_role("main")).not_to_contain_text(NAMESPACE)
    page.goto(f"/modules/{NAMESPACE}/vpc/aws")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in to Larder")
    assert "greeting" not in page.content()
    context.close()


@pytest.mark.embedded("its host has a port, and its certificate an authority of Larder's own")
def test_a_new_user_follows_the_help_to_a_private_module_in_ci(registry: Live, desk: Desk, tmp_path: Path) -> None:
    authority = publish(desk, Machine(tmp_path / "alice"))

    pipeline = read_how_to_install(desk)
    token = make_a_token(desk, "bob", ["New"], "read")
    bob, charlie = Machine(tmp_path / "bob"), Machine(tmp_path / "charlie")
    for machine in (bob, charlie):
        (machine.work / "main.tf").write_text(pipeline.configuration)
        (machine.work / "larder-ca.pem").write_text(authority)

    said = bob.run(f"{pipeline.trust}\n{pipeline.init}", {"LARDER_TOKEN": token, "CI": "true"})
    assert f"Downloading {registry.host}/{NAMESPACE}/vpc/aws 1.2.0 for vpc" in said
    assert (bob.work / ".terraform/modules/vpc/main.tf").read_text() == MODULE
    said = bob.run(pipeline.who_am_i, {"LARDER_TOKEN": token, pipeline.bundle_of_curl: "larder-ca.pem"})
    assert f'"user":"{TEAM}.bob[bot]"' in said
    assert '"scope":"read"' in said

    said = charlie.run(f"{pipeline.trust}\nterraform init -input=false", status=1)
    assert pipeline.refusal in said
    assert not (charlie.work / ".terraform/modules/vpc").exists()
    the_browser_of_charlie_finds_nothing(desk, registry)
