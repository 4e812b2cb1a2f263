"""bin/image: what it asks of Docker, cosign and Helm."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests import documents
from tests.builders.publishing import CHART_DIGEST, DIGEST, REGISTRY, Checkout, git
from tests.live import CHECKOUT
from tests.programs import HELM
from tests.rows import for_each_row

pytestmark = pytest.mark.needs("git", "helm")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_build_says_which_commit_the_image_is(checkout: Checkout) -> None:
    done = checkout.run("make", "image", SOURCE="https://git.acme.example/larder")

    assert done.returncode == 0, done.stderr
    [asked] = checkout.asked
    assert asked.startswith("docker build ")
    assert f"--tag {REGISTRY}/larder:1.2.0 " in asked
    given = dict(re.findall(r"--build-arg (\w+)=(\S*)", asked))
    assert given.pop("CREATED") == git(checkout.folder, "log", "-1", "--format=%cI")
    assert given == {
        "VERSION": "1.2.0",
        "REVISION": git(checkout.folder, "rev-parse", "HEAD"),
        "SOURCE": "https://git.acme.example/larder",
        "REQUIREMENTS": "requirements.txt",
    }
    # Docker warns of an argument that the file lacks, and builds without it.
    declared = re.findall(r"^ARG (\w+)", (CHECKOUT / "Dockerfile").read_text(), re.MULTILINE)
    assert {"CREATED", *given} <= set(declared)


def test_push_prints_the_digest_in_this_registry(checkout: Checkout) -> None:
    done = checkout.run("make", "push")

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{REGISTRY}/larder@{DIGEST}"]
    assert checkout.asked[0] == f"docker push {REGISTRY}/larder:1.2.0"


def test_publish_builds_for_both_platforms_and_signs_all_of_it(checkout: Checkout) -> None:
    done = checkout.run(REQUIREMENTS="requirements-extras.txt")

    assert done.returncode == 0, done.stderr
    packed, linted, build, materials, *rest = checkout.asked
    # What can fail here fails before anything is pushed.
    assert packed.startswith("helm package ")
    assert linted.startswith("helm lint --strict ")
    assert "--platform linux/amd64,linux/arm64" in build
    assert "--provenance mode=max --sbom true --push" in build
    assert "--target sbom" in materials
    assert all("--build-arg REQUIREMENTS=requirements-extras.txt" in one for one in (build, materials))
    signed = [line for line in rest if line.startswith("cosign")]
    image = f"{REGISTRY}/larder@{DIGEST}"
    assert signed[0] == f"cosign sign --recursive {image} --yes"
    assert re.fullmatch(rf"cosign attest --type cyclonedx --predicate \S+/sbom.json {image} --yes", signed[1])
    assert signed[2] == f"cosign sign {REGISTRY}/charts/larder@{CHART_DIGEST} --yes"
    assert re.fullmatch(r"cosign sign-blob --bundle \S+/SHA256SUMS.sigstore.json \S+/SHA256SUMS --yes", signed[3])
    assert done.stdout.splitlines()[-1].startswith(f"Published {image} ")


def test_publish_packs_a_chart_that_installs_the_image(checkout: Checkout) -> None:
    """By its digest, and without a word from who installs it."""
    assert checkout.run().returncode == 0

    [chart] = checkout.folder.parent.glob("*.tgz")
    assert chart.name == "larder-1.2.0.tgz"
    # Files to which the checkout has a link are files in the chart.
    packed = subprocess.run(["tar", "-tzf", chart], capture_output=True, text=True, check=True).stdout
    assert "larder/files/prometheus/alerts.yml" in packed.splitlines()
    set_ = "publicUrl=https://registry.acme.example"
    rendered = subprocess.run(
        [HELM, "template", chart, "--set", set_], capture_output=True, text=True, check=True
    ).stdout
    deployed = [one for one in yaml.safe_load_all(rendered) if one and one["kind"] == "Deployment"]
    containers = [one["spec"]["template"]["spec"]["containers"][0] for one in deployed]
    assert {one["image"] for one in containers} == {f"{REGISTRY}/larder@{DIGEST}"}
    shown = subprocess.run([HELM, "show", "chart", chart], capture_output=True, text=True, check=True).stdout
    assert (yaml.safe_load(shown)["version"], yaml.safe_load(shown)["appVersion"]) == ("1.2.0", "1.2.0")
    # The checkout keeps the chart that names no image.
    assert git(checkout.folder, "status", "--porcelain") == ""


def test_a_key_signs_where_there_is_no_identity(checkout: Checkout) -> None:
    assert checkout.run(COSIGN_KEY="hashivault://larder").returncode == 0

    signed = [line for line in checkout.asked if line.startswith("cosign")]
    assert len(signed) == 4
    assert all(line.endswith("--yes --key hashivault://larder") for line in signed)


@for_each_row("command", ["push", "publish"])
@for_each_row("name", ["Makefile", "unknown.py"], ids=["changed", "not committed"])
def test_a_dirty_tree_is_not_pushed(checkout: Checkout, command: str, name: str) -> None:
    with (checkout.folder / name).open("a") as file:
        file.write("# changed\n")

    done = checkout.run("bin/image", command)

    assert done.returncode == 1
    assert name in done.stderr
    assert checkout.asked == []


def test_a_dirty_tree_can_be_built_and_says_so(checkout: Checkout) -> None:
    with (checkout.folder / "Makefile").open("a") as file:
        file.write("# changed\n")

    assert checkout.run("bin/image", "build").returncode == 0
    assert f"--tag {REGISTRY}/larder:1.2.0-dirty " in checkout.asked[0]


def test_dist_has_what_a_release_page_offers(checkout: Checkout) -> None:
    assert checkout.run(SOURCE="https://git.acme.example/larder").returncode == 0

    dist = checkout.folder / "dist"
    files = {"larder-1.2.0-source.tar.gz", "larder-1.2.0.tgz", "larder-1.2.0.cdx.json"}
    assert {path.name for path in dist.iterdir()} == {*files, "SHA256SUMS", "SHA256SUMS.sigstore.json", "notes.md"}
    listed = subprocess.run(
        ["sha256sum", "--check", "SHA256SUMS"], cwd=dist, capture_output=True, text=True, check=True
    )
    assert {line.partition(":")[0] for line in listed.stdout.splitlines()} == files
    notes = (dist / "notes.md").read_text()
    assert "Older" not in notes
    assert "[the page](https://git.acme.example/larder/blob/v1.2.0/docs/deployment.md)" in notes
    assert "[the protocol](https://opentofu.org/docs)" in notes
    assert f"oci://{REGISTRY}/charts/larder --version 1.2.0" in notes
    assert f"cosign verify {REGISTRY}/larder@{DIGEST} " in notes
    assert git(checkout.folder, "status", "--porcelain") == ""


def without_cosign(checkout: Checkout) -> None:
    """With a PATH on which there is none."""
    (checkout.programs / "cosign").unlink()


def with_a_broken_chart(checkout: Checkout) -> None:
    with (checkout.folder / "deploy/helm/larder/templates/web.yaml").open("a") as file:
        file.write("{{ fail }}\n")


def without_a_section(checkout: Checkout) -> None:
    (checkout.folder / "CHANGELOG.md").write_text("# Changelog\n")


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (without_cosign, "cosign is missing"),
        (with_a_broken_chart, "web.yaml"),
        (without_a_section, "CHANGELOG.md has no section about 1.2.0"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_is_not_ready_is_found_before_anything_is_pushed(
    checkout: Checkout, prepare: Callable[[Checkout], None], words: str
) -> None:
    prepare(checkout)
    git(checkout.folder, "commit", "--all", "--allow-empty", "--quiet", "--message", "second")
    git(checkout.folder, "tag", "--delete", "v1.2.0")
    git(checkout.folder, "tag", "v1.2.0")

    # Whatever the machine has beside these.
    tools = checkout.folder.parent / "tools"
    tools.mkdir()
    (tools / "python3").symlink_to(Path(sys.executable).resolve())
    for name in ("sh", "git", "sed", "cp", "rm", "mktemp", "dirname", "basename", "grep", "sha256sum"):
        (tools / name).symlink_to(str(shutil.which(name)))
    done = checkout.run(PATH=f"{checkout.programs}:{tools}")

    assert done.returncode != 0
    assert words in done.stdout + done.stderr
    assert not [line for line in checkout.asked if "push" in line or line.startswith("cosign")]
    assert not (checkout.folder / "dist").exists()


@for_each_row("failing", ["docker", "cosign", "helm"])
def test_a_step_that_fails_ends_it(checkout: Checkout, failing: str) -> None:
    (checkout.programs / failing).write_text("#!/bin/sh\necho refused >&2\nexit 1\n")

    done = checkout.run()

    assert done.returncode != 0
    assert "refused" in done.stderr
    assert ("Stopped while " in done.stderr) == (failing != "helm"), "that one fails before anything is pushed"
    assert "Published" not in done.stdout
    assert not (checkout.folder / "dist").exists()


def test_without_a_registry_nothing_is_built(checkout: Checkout) -> None:
    done = checkout.run("bin/image", "build", REGISTRY="")

    assert (done.returncode, checkout.asked) == (1, [])
    assert "REGISTRY is missing" in done.stderr


def test_the_page_builds_and_pushes_in_three_commands(checkout: Checkout) -> None:
    """docs/deployment.md, typed. The page begins with them."""
    first = next(documents.fences("docs/deployment.md"))
    [block] = documents.run_by("tests/site/startup/test_image.py::test_the_page_builds_and_pushes_in_three_commands")
    commands = block.text.splitlines()
    assert first == block
    assert len(commands) == 3

    done = checkout.run("bash", "-eu", "-c", block.text)

    assert done.returncode == 0, done.stderr
    assert [line.split()[:2] for line in checkout.asked] == [
        ["docker", "login"],
        ["docker", "build"],
        ["docker", "push"],
        ["docker", "image"],
    ]
    assert f"/larder@{DIGEST}" in done.stdout
