"""The workflows of GitHub and GitLab: valid by their schemas, pinned, and made of commands that are executed here."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.builders.publishing import DIGEST, Checkout
from tests.house import sources
from tests.rows import for_each_row

GITHUB = sorted((sources.CHECKOUT / ".github" / "workflows").glob("*.yml"))
CHECK, RELEASE = (sources.CHECKOUT / ".github" / "workflows" / f"{name}.yml" for name in ("check", "release"))
FORMS = sorted((sources.CHECKOUT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
GITLAB = sources.CHECKOUT / ".gitlab-ci.yml"
SCHEMAS = [*((path, "vendor.github-workflows") for path in GITHUB), (GITLAB, "vendor.gitlab-ci")]
ALL = [*GITHUB, GITLAB]
# What the jobs may do beside reading: sign, push and make a page; show findings, and sign the published score.
MAY_WRITE = {
    "publish": {"contents", "packages", "id-token"},
    "codeql": {"security-events"},
    "scorecard": {"security-events", "id-token"},
}


def load(path):
    # YAML 1.1 reads the key `on` as true.
    document = yaml.safe_load(path.read_text())
    return {"on" if key is True else key: value for key, value in document.items()}


def complaints(schema: str, path: Path) -> "subprocess.CompletedProcess[str]":
    words = [str(Path(sys.executable).with_name("check-jsonschema")), "--builtin-schema", schema, str(path)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.slow
@for_each_row(("path", "schema"), SCHEMAS, ids=[path.name for path, _ in SCHEMAS])
def test_the_schema_of_its_service_takes_each_and_finds_a_mistyped_key(path, schema, tmp_path):
    assert complaints(schema, path).returncode == 0
    mistyped = re.sub(r"^( +)(runs-on|uses|stage):", r"\1mistyped:", path.read_text(), flags=re.MULTILINE)
    (tmp_path / "file.yml").write_text(mistyped)
    assert complaints(schema, tmp_path / "file.yml").returncode == 1


@pytest.mark.slow
@for_each_row("path", FORMS, ids=[path.stem for path in FORMS])
def test_the_schema_of_github_takes_each_form_of_issues(path):
    kind = "config" if path.stem == "config" else "forms"
    done = complaints(f"vendor.github-issue-{kind}", path)
    assert done.returncode == 0, done.stdout


def test_every_action_is_pinned_to_a_commit_and_says_its_version():
    lines = [line for path in GITHUB for line in path.read_text().splitlines() if "uses:" in line]
    foreign = [line for line in lines if "uses: ./" not in line]

    assert len(foreign) >= 5
    assert [line for line in foreign if not re.search(r"uses: [\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+$", line)] == []
    for line in set(lines) - set(foreign):
        assert (sources.CHECKOUT / line.split("uses: ./")[1]).is_file()


@for_each_row("path", ALL, ids=lambda path: path.name)
def test_every_image_is_pinned_to_a_digest(path):
    text = path.read_text()
    images = re.findall(r"(?:image:|- name:|--rm) +(\S+:\S+)", text)

    assert [image for image in images if not re.search(r":[\w.-]+@sha256:[0-9a-f]{64}$", image)] == []
    assert len(images) == {"check.yml": 1, "release.yml": 1, ".gitlab-ci.yml": 4}.get(path.name, 0)


def test_both_pipelines_run_all_checks_before_they_publish():
    check, release, gitlab = load(CHECK), load(RELEASE), load(GITLAB)

    assert ".ci/run" in [step.get("run") for step in check["jobs"]["check"]["steps"]]
    assert "workflow_call" in check["on"]
    assert release["jobs"]["check"] == {"uses": "./.github/workflows/check.yml"}
    assert release["jobs"]["publish"]["needs"] == "check"
    assert gitlab["check"]["script"] == [".ci/run"]
    assert gitlab["publish"]["needs"] == ["check"]
    assert (sources.CHECKOUT / ".ci" / "run").stat().st_mode & 0o111


def test_both_publish_tags_of_releases_alone():
    """`make release` makes them: v, then a number."""
    release, gitlab = load(RELEASE), load(GITLAB)

    assert release["on"] == {"push": {"tags": ["v[0-9]*"]}}
    assert [rule["if"] for rule in gitlab["publish"]["rules"]] == ["$CI_COMMIT_TAG =~ /^v[0-9]/"]


def test_every_job_has_the_history_that_has_the_version():
    steps = [step for path in GITHUB for job in load(path)["jobs"].values() for step in job.get("steps", ())]
    checkouts = [step["with"] for step in steps if step.get("uses", "").startswith("actions/checkout@")]

    assert [one["fetch-depth"] for one in checkouts] == [0] * len(GITHUB)
    assert not any(one["persist-credentials"] for one in checkouts)
    assert load(GITLAB)["variables"]["GIT_DEPTH"] == "0"


def test_each_job_may_do_what_it_is_for():
    for path in GITHUB:
        document = load(path)
        assert document["permissions"] == {"contents": "read"}
        for name, job in document["jobs"].items():
            more = {key for key, value in job.get("permissions", {}).items() if value == "write"}
            assert more == MAY_WRITE.get(name, set())
    assert load(GITLAB)["publish"]["id_tokens"] == {"SIGSTORE_ID_TOKEN": {"aud": "sigstore"}}


def steps_of(service):
    """What the publishing job types, and the variables that it sets."""
    if service == "GitHub":
        job = load(RELEASE)["jobs"]["publish"]
        commands = [step for step in job["steps"] if "run" in step]
        names = set(job["env"]).union(*(step.get("env", ()) for step in commands))
        return [step["run"] for step in commands], names
    job = load(GITLAB)["publish"]
    return [*job["before_script"], *job["script"]], {*load(GITLAB)["variables"], *job["variables"]}


@pytest.mark.needs("git", "helm")
@pytest.mark.parametrize("service", ["GitHub", "GitLab"])
def test_the_job_that_publishes_builds_signs_and_pushes(service, tmp_path):
    """Its lines, executed against the scripts of test_image.py, with the variables that it declares and no others."""
    checkout = Checkout(tmp_path)
    for name in ("apk", "go"):
        (checkout.programs / name).write_text(f'#!/bin/sh\necho "{name} $*" >> "$ASKED"\n')
        (checkout.programs / name).chmod(0o755)
    commands, names = steps_of(service)
    *commands, page = commands  # tests/house/test_release_page.py
    assert page.startswith("python3 bin/release_page.py publish ")
    values = {
        "REGISTRY": "registry.acme.example:5000/team",
        "REGISTRY_USER": "alice",
        "REGISTRY_PASSWORD": "secret",
        "PASSWORD": "secret",
        "SOURCE": "https://git.acme.example/larder",
        "REQUIREMENTS": "",
    }
    given = {name: values[name] for name in names & values.keys()} | {"GITHUB_PATH": str(tmp_path / "path")}

    done = checkout.run("bash", "-euc", "\n".join(commands), **given)

    assert done.returncode == 0, done.stderr
    asked = "\n".join(checkout.asked)
    assert "docker login registry.acme.example:5000 --username alice --password-stdin" in asked
    assert "--platform linux/amd64,linux/arm64" in asked
    assert "SOURCE=https://git.acme.example/larder" in asked
    assert f"cosign sign --recursive registry.acme.example:5000/team/larder@{DIGEST}" in asked
    assert "helm push" in asked
    assert "secret" not in asked
    # Each tool by its version.
    installed = [word for line in checkout.asked if line.startswith("go install") for word in line.split()[2:]]
    assert installed
    assert all(re.search(r"@v\d+\.\d+\.\d+$", one) for one in installed)


@pytest.mark.needs("git", "helm")
@pytest.mark.parametrize("service", ["GitHub", "GitLab"])
def test_the_job_that_publishes_refuses_a_dirty_tree(service, tmp_path):
    checkout = Checkout(tmp_path)
    (checkout.folder / "unknown.py").touch()
    commands, _ = steps_of(service)

    done = checkout.run("bash", "-euc", commands[-2])

    assert (done.returncode, checkout.asked) == (1, [])
    assert "unknown.py" in done.stderr
