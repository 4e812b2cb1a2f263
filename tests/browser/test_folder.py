"""A folder that is dropped or chosen becomes a zip in the browser, and the server takes it as it is."""

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from apps.lib.archives import sandboxed
from tests.browser.conftest import serious_findings
from tests.browser.publishing import describe, drop, expect_published, publish
from tests.builders.archives import PRIVATE_KEY
from tests.live import Live

pytestmark = pytest.mark.live


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """A folder on the person's disk with these files."""

    def write(name: str, files: dict[str, str]) -> Path:
        for path, text in files.items():
            file = tmp_path / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path / name

    return write


MODULE = {
    "main.tf": 'variable "name" {}\n',
    "README.md": "# A module\n",
    "übersicht/größe.md": "names beyond ASCII\n",
    "modules/b/main.tf": "",
    "modules/a/main.tf": 'output "x" { value = 1 }\n',
}
CLUTTER = {
    ".git/HEAD": "ref\n",
    ".terraform/providers/x": "x",
    "modules/a/.terraform/y": "y",
    "__MACOSX/._main.tf": "x",
    ".DS_Store": "x",
    "Thumbs.db": "x",
    "terraform.tfstate.d/dev/terraform.tfstate": "{}",
    "terraform.tfstate.backup": "{}",
}


def sent(live: Live, release: str) -> bytes:
    """The archive that arrived, which is the one that is served: nothing had to be repacked."""
    with live.client(live.token()) as client:
        document = client.get(f"/api/v1/releases/{release}").json()
        assert document["digest"] == document["uploaded_digest"]
        path = f"{document['namespace']}/{document['name']}/{document['version']}"
        location = client.get(f"/v1/modules/{path}/download").headers["X-Terraform-Get"]
        return client.get(location.partition("?")[0]).content


def test_a_chosen_folder_is_packed_by_the_browser_by_the_rules_of_the_server(page, space, folder, live, tmp_path):
    path = folder("terraform-local-packed-1.2.0", {**MODULE, **CLUTTER})
    describe(page, space, "")
    page.get_by_label("System", exact=True).fill("")
    page.locator("#chosen-folder").set_input_files(path)
    expect(page.get_by_label("Name", exact=True)).to_have_value("packed")
    expect(page.get_by_label("System", exact=True)).to_have_value("local")
    expect(page.get_by_label("Version", exact=True)).to_have_value("1.2.0")
    chosen = page.get_by_role("region", name="Your selection")
    expect(chosen).to_contain_text("5 files")
    expect(chosen).to_contain_text("8 left out by rule")
    expect(chosen).to_contain_text("Left out: state files")
    release = publish(page)
    expect_published(page)
    data = sent(live, release)
    (tmp_path / "sent.zip").write_bytes(data)
    with (tmp_path / "sent.zip").open("rb") as file:
        listing = sandboxed.inspect(file, sandboxed.Limits())
    assert [entry.name for entry in listing.entries] == sorted(MODULE)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        for info in archive.infolist():
            assert archive.read(info).decode() == MODULE[info.filename]
            assert (info.compress_type, info.date_time, info.extra) == (0, (1980, 1, 1, 0, 0, 0), b"")
            assert info.flag_bits == 0x800
            assert info.external_attr >> 16 == 0o100644


def test_a_dropped_folder_gives_the_same_bytes_as_a_chosen_one(page, space, folder, live):
    path = folder("twice", {**MODULE, **{f"many/{number}.md": f"{number}\n" for number in range(230)}, **CLUTTER})
    digests = []
    for name, choose in (
        ("twice-chosen", lambda: page.locator("#chosen-folder").set_input_files(path)),
        ("twice-dropped", lambda: drop(page, str(path))),
    ):
        describe(page, space, name)
        page.get_by_label("Version", exact=True).fill("1.0.0")
        choose()
        expect(page.get_by_role("region", name="Your selection")).to_contain_text("235 files")
        release = publish(page)
        expect_published(page)
        digests.append(sent(live, release))
    assert digests[0] == digests[1]


def test_files_that_are_dropped_without_a_folder_are_packed_as_they_lie(page, space, folder, live):
    path = folder("loose", MODULE)
    describe(page, space, "loose")
    page.get_by_label("Version", exact=True).fill("1.0.0")
    drop(page, *(str(path / name) for name in ("main.tf", "README.md", "modules")))
    release = publish(page)
    expect_published(page)
    with zipfile.ZipFile(io.BytesIO(sent(live, release))) as archive:
        assert archive.namelist() == ["README.md", "main.tf", "modules/a/main.tf", "modules/b/main.tf"]


@pytest.mark.parametrize(
    ("answer", "sent_files"), [("No, leave", ["main.tf"]), ("Yes, include", ["ca.pem", "main.tf", "t/key.txt"])]
)
def test_a_private_key_is_asked_about_once_and_before_anything_is_sent(page, space, folder, live, answer, sent_files):
    name = answer[:2].lower()
    path = folder(name, {"main.tf": "", "t/key.txt": PRIVATE_KEY, "ca.pem": "-----BEGIN CERTIFICATE-----\n"})
    describe(page, space, f"keyed-{name}")
    page.get_by_label("Version", exact=True).fill("1.0.0")
    page.locator("#chosen-folder").set_input_files(path)
    question = page.get_by_role("group", name="Do these private keys belong")
    expect(question.get_by_role("listitem")).to_have_text(["ca.pem", "t/key.txt"])
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("alert")).to_contain_text("Say whether they belong")
    assert serious_findings(page) == []
    page.get_by_label(answer).check()
    release = publish(page)
    expect_published(page)
    with zipfile.ZipFile(io.BytesIO(sent(live, release))) as archive:
        assert archive.namelist() == sent_files


SLOW_DISK = """() => {
  const { read } = ReadableStreamDefaultReader.prototype;
  ReadableStreamDefaultReader.prototype.read = async function () {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return read.call(this);
  };
}"""


def test_preparing_shows_its_progress_and_can_be_cancelled(page, space, folder, live):
    path = folder("slow", {"main.tf": "", "large.bin": ""})
    os.truncate(path / "large.bin", 60_000_000)
    describe(page, space, "slow")
    page.get_by_label("Version", exact=True).fill("1.0.0")
    page.locator("#chosen-folder").set_input_files(path)
    page.evaluate(SLOW_DISK)
    page.get_by_role("button", name="Publish").click()
    expect(page.locator("[data-progress=prepare]")).to_be_visible()
    expect(page.get_by_text("Preparing slow.zip: 2 files", exact=True)).to_be_visible()
    assert serious_findings(page) == []
    page.get_by_role("button", name="Cancel the preparation").click()
    expect(page.get_by_role("status").filter(has_text="Nothing was sent")).to_be_attached()
    expect(page.locator("[data-progress]")).to_be_hidden()
    expect(page.get_by_role("button", name="Publish")).to_be_focused()
    with live.client(live.token()) as client:
        assert client.get(f"/api/v1/modules/{space}/slow/local/1.0.0").status_code == 404


def test_a_file_that_is_gone_is_named(page, space, folder):
    path = folder("gone", {"main.tf": "", "docs/lost.md": "soon\n"})
    describe(page, space, "gone")
    page.get_by_label("Version", exact=True).fill("1.0.0")
    page.locator("#chosen-folder").set_input_files(path)
    expect(page.get_by_role("region", name="Your selection")).to_contain_text("2 files")
    (path / "docs/lost.md").unlink()
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("alert")).to_contain_text("docs/lost.md cannot be read")


LIMITS = {
    "maxBytes": (400, "module_archive_max_bytes of LARDER_LIMITS allows 400 bytes. Its largest file is huge.md"),
    "maxUnpacked": (300, "module_unpacked_max_bytes of LARDER_LIMITS allows 300"),
    "maxEntries": (2, "more than 2 files, the limit that archive_max_entries of LARDER_LIMITS sets"),
}


def test_too_much_is_refused_before_it_is_read(page, space, folder):
    path = folder("much", {"main.tf": "", "huge.md": "x" * 500, "README.md": ""})
    for limit, (value, says) in LIMITS.items():
        describe(page, space, "much")
        page.get_by_label("Version", exact=True).fill("1.0.0")
        set_limit = "(form, [name, value]) => { form.dataset[name] = value }"
        page.locator("form[data-publish]").evaluate(set_limit, [limit, value])
        drop(page, str(path))
        if limit != "maxEntries":
            page.get_by_role("button", name="Publish").click()
        expect(page.get_by_role("alert")).to_contain_text(says)


def test_a_folder_that_is_no_module_offers_those_below_it(page, space, folder):
    path = folder("mono", {"README.md": "", "modules/a/main.tf": "", "modules/b/main.tofu": ""})
    describe(page, space, "mono")
    page.locator("#chosen-folder").set_input_files(path)
    expect(page.get_by_role("region", name="Your selection")).to_contain_text("modules/a, modules/b")
    expect(page.get_by_label("Folder inside the archive")).to_be_visible()
    assert page.locator("#module-folders option").count() == 2
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("region", name="Your selection")).to_be_hidden()


WALK = """async () => {
  const { walk, TooMany } = await import("/static/js/upload/folder.js");
  const { Unreadable } = await import("/static/js/upload/zip/pack.js");
  const answer = (value, error) => (give, refuse) => (error ? refuse(error) : give(value()));
  const file = (name, error) => ({ name, isDirectory: false, file: answer(() => new File([name], name), error) });
  const folder = (name, batches, error) => ({ name, isDirectory: true, createReader: () => {
    const left = [...batches];
    return { readEntries: answer(() => left.shift() ?? [], error) };
  } });
  const outcome = async (entries, most = 9) => {
    try {
      const found = await walk(entries, most);
      return [found.name, found.files.map(({ path }) => path).sort(), found.leftOut];
    } catch (error) {
      return [error instanceof Unreadable ? error.path : error instanceof TooMany ? "too many" : String(error)];
    }
  };
  const nope = new DOMException("no", "NotReadableError");
  return [
    await outcome([folder("top", [[file("a")], [file("b"), folder("in", [[file("c")]])]])]),
    await outcome([folder("top", [[folder(".git", [], nope), file("main.tf")]])]),
    await outcome([folder("top", [[folder("shut", [], nope)]])]),
    await outcome([folder("top", [[folder("in", [[file("link", nope)]])]])]),
    await outcome([folder("top", [[file("a"), file("b")]])], 1),
    await outcome([file("one.tf"), folder("in", [[file("two.tf")]])]),
  ];
}"""


def test_the_walker_reads_every_batch_and_names_what_it_may_not_read(page):
    page.goto("/publish")
    assert page.evaluate(WALK) == [
        ["top", ["a", "b", "in/c"], []],
        ["top", ["main.tf"], [".git/"]],
        ["shut/"],
        ["in/link"],
        ["too many"],
        ["", ["in/two.tf", "one.tf"], []],
    ]


def test_names_of_archives_tell_the_module_and_its_version(page):
    page.goto("/publish")
    names = [
        "terraform-aws-vpc-1.2.0.tar.gz",
        "vpc-v1.2.0.zip",
        "vpc-2.0.0-rc.1.tgz",
        "web_cluster.tar.xz",
        "terraform-aws-vpc-main.zip",
        "notes.txt",
    ]
    script = """async (names) => {
      const { guess } = await import("/static/js/upload/guess.js");
      return names.map((name) => Object.values(guess(name)));
    }"""
    assert page.evaluate(script, names) == [
        ["1.2.0", "vpc", "aws"],
        ["1.2.0", "vpc", ""],
        ["2.0.0-rc.1", "vpc", ""],
        ["", "web_cluster", ""],
        ["", "vpc", "aws"],
        ["", "", ""],
    ]
