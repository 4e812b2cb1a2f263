"""docs/publishing.md: its script, and its jobs as GitHub Actions, GitLab CI, Azure DevOps and Jenkins execute them."""

import hashlib
import os
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.live import CHECKOUT, Live
from tests.needs import needs

pytestmark = pytest.mark.live
HOST, NAMESPACE = "https://registry.example.com", "conveyor"
DOCUMENT = (CHECKOUT / "docs/publishing.md").read_text().replace("acme/", f"{NAMESPACE}/")
SCRIPT, *PLAIN_SHELL, CHECK = re.findall(r"```sh\n(.*?)```", DOCUMENT, re.DOTALL)
BUILD = f"""set -eu
{CHECKOUT}/bin/tiny-provider dns "$1" dist
cp terraform-registry-manifest.json "dist/terraform-provider-dns_$1_manifest.json"
"""
SERVICE_ACCOUNT = f"""
from apps.accounts.access.gate import Viewer
from apps.accounts.people import service_accounts
team, admin = Team.objects.get(name="{NAMESPACE}-team"), User.objects.get(username="admin")
print(service_accounts.create(team=team, name="ci", actor=Viewer(admin)).username)
"""


@dataclass(frozen=True)
class Step:
    shell: list[str]  # as the system starts it; the text is the last argument
    text: str
    environment: dict[str, str] = field(default_factory=dict)


Jobs = dict[str, list[Step]]


def section(title: str) -> str:
    found: str = re.findall(r"```\w+\n(.*?)```", DOCUMENT.partition(f"\n## {title}\n")[2], re.DOTALL)[0]
    return found


def github_actions() -> Jobs:
    workflow = yaml.safe_load(section("GitHub Actions"))
    return {
        name: [
            Step(["bash", "-e", "-c"], step["run"], workflow["env"] | step.get("env", {}))
            for step in job["steps"]
            if "run" in step
        ]
        for name, job in workflow["jobs"].items()
    }


def gitlab_ci() -> Jobs:
    pipeline = yaml.safe_load(section("GitLab CI"))
    # A variable of the project is in the environment of each job.
    environment = pipeline["variables"] | {"LARDER_TOKEN": "<secret>"}
    return {
        name: [Step(["bash", "-eo", "pipefail", "-c"], "\n".join(job["script"]), environment)]
        for name, job in pipeline.items()
        if "script" in job
    }


def azure_devops() -> Jobs:
    pipeline = yaml.safe_load(section("Azure DevOps"))
    return {
        job["job"]: [
            Step(["bash", "--noprofile", "--norc", "-c"], step["script"], pipeline["variables"] | step.get("env", {}))
            for step in job["steps"]
        ]
        for job in pipeline["jobs"]
    }


def jenkins() -> Jobs:
    text = section("Jenkins")
    environment = dict(re.findall(r"^ +(LARDER_\w+) = (.+)$", text, re.MULTILINE))
    plain = {name: value.strip("'") for name, value in environment.items()}
    return {
        stage.partition("'")[0].lower(): [
            Step(["sh", "-xe", "-c"], command, plain) for command in re.findall(r"sh '(.*)'\n", stage)
        ]
        for stage in text.split("stage('")[1:]
    }


@dataclass(frozen=True)
class System:
    jobs: Callable[[], Jobs]
    secret: str  # as its file names one
    version: str
    tag: dict[str, str]  # what it tells a job about the tag; {} stands for it


SYSTEMS = {
    "GitHub Actions": System(github_actions, "${{ secrets.LARDER_TOKEN }}", "1.0.1", {"GITHUB_REF_NAME": "{}"}),
    "GitLab CI": System(gitlab_ci, "<secret>", "1.0.2", {"CI_COMMIT_TAG": "{}"}),
    "Azure DevOps": System(
        azure_devops,
        "$(LARDER_TOKEN)",
        "1.0.3",
        {"BUILD_SOURCEBRANCHNAME": "{}", "BUILD_SOURCEBRANCH": "refs/tags/{}"},
    ),
    "Jenkins": System(jenkins, "credentials('larder-token')", "1.0.4", {"TAG_NAME": "{}"}),
}
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def token(live: Live) -> str:
    """Of a service account that publishes in one namespace, as the document advises."""
    team, space = f"/api/v1/teams/{NAMESPACE}-team", f"/api/v1/namespaces/{NAMESPACE}"
    with live.client(live.token()) as client:
        for path, body in (
            (space, {"visibility": "private"}),
            (team, {}),
            (f"{space}/grants/teams/{NAMESPACE}-team", {"role": "publisher"}),
        ):
            client.put(path, json=body).raise_for_status()
        client.post(f"{space}/keys", json={"generate": "ed25519"}).raise_for_status()
        while client.get(f"{space}/keys").json()["keys"][0]["state"] != "active":
            time.sleep(0.1)
    account = live.manage("shell", "--verbosity", "0", "-c", SERVICE_ACCOUNT).split()[-1]
    return live.token(account, "publish", "--namespace", NAMESPACE)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """With the files of a module, a build of a provider, and the script of the document."""
    folder = tmp_path / "repository"
    (folder / "ci").mkdir(parents=True)
    (folder / "ci/publish.sh").write_text(SCRIPT)
    (folder / "ci/check.sh").write_text(CHECK)
    (folder / "main.tf").write_text('output "greeting" {\n  value = "hello"\n}\n')
    (folder / "ci/build.sh").write_text(BUILD)
    manifest = '{"version": 1, "metadata": {"protocol_versions": ["6.0"]}}'
    (folder / "terraform-registry-manifest.json").write_text(manifest)
    return folder


@pytest.fixture
@needs("curl", "git")
def run(live: Live, repository: Path, token: str) -> Run:
    """Commit, tag, and execute the steps as the system does: the first that fails ends the job."""
    names = {f"GIT_{who}_{what}": "ann@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    programs = repository.parent / "bin"
    programs.mkdir()
    (programs / "sleep").write_text("#!/bin/sh\nexec /bin/sleep 0.1\n")
    (programs / "sleep").chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    base = {"PATH": path, "HOME": str(repository.parent), "CURL_CA_BUNDLE": str(live.ca_bundle), **names}

    def execute(tag: str, steps: list[Step], secret: str = token) -> "subprocess.CompletedProcess[str]":
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", tag, "--allow-empty"], ["tag", tag]):
            subprocess.run(["git", *command], cwd=repository, env=base, check=True)
        output = ""
        for step in steps:
            written = {name: str(value) for name, value in step.environment.items()}
            given = {name: value.replace("<secret>", secret).replace(HOST, live.url) for name, value in written.items()}
            done = subprocess.run(
                [*step.shell, step.text],
                cwd=repository,
                env=base | given,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=60,
                check=False,
            )
            output += done.stdout
            if done.returncode:
                break
        assert secret not in output
        return subprocess.CompletedProcess(done.args, done.returncode, output)

    return execute


def steps_of(system: System, job: str, tag: str) -> list[Step]:
    """With the secret where the file asks the system's store for it, and nowhere else."""
    told = {name: value.replace("{}", tag) for name, value in system.tag.items()}
    steps = system.jobs()[job]
    secrets = [step.environment["LARDER_TOKEN"] for step in steps if "LARDER_TOKEN" in step.environment]
    assert set(secrets) == {system.secret}
    return [
        Step(
            step.shell,
            step.text,
            told | {name: str(value).replace(system.secret, "<secret>") for name, value in step.environment.items()},
        )
        for step in steps
    ]


def shown(live: Live, token: str, path: str) -> dict[str, Any]:
    with live.client(token) as client:
        answer = client.get(f"/api/v1/{path}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


def is_archive_of(repository: Path, release: dict[str, Any]) -> bool:
    archive = (repository / "module.zip").read_bytes()
    return bool(release["uploaded_digest"] == f"sha256:{hashlib.sha256(archive).hexdigest()}")


def test_larder_offers_the_script_of_the_document(live: Live) -> None:
    with live.client() as client:
        (path,) = re.findall(r'href="(\S+publish\S*\.sh)"', client.get("/how-to-use").text)
        assert client.get(path).text.replace("acme/", f"{NAMESPACE}/") == SCRIPT


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_jobs_publish_a_module_and_a_provider(
    live: Live, repository: Path, run: Run, token: str, name: str
) -> None:
    system = SYSTEMS[name]
    tag = f"v{system.version}"
    assert set(system.jobs()) == {"module", "provider"}

    done = run(tag, steps_of(system, "module", tag))
    assert done.returncode == 0, done.stdout
    release = shown(live, token, f"modules/{NAMESPACE}/vpc/aws/{system.version}")
    assert release["state"] == "published"
    assert is_archive_of(repository, release)

    done = run(f"{tag}-again", steps_of(system, "provider", tag))
    assert done.returncode == 0, done.stdout
    release = shown(live, token, f"providers/{NAMESPACE}/dns/{system.version}")
    assert (release["state"], release["signing"], release["protocols"]) == ("published", "registry", ["6.0"])
    assert release["platforms"] == ["darwin_arm64", "linux_amd64"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_refused_archive_ends_the_job_and_the_log_says_why(
    live: Live, repository: Path, run: Run, token: str, name: str
) -> None:
    (repository / "main.tf").write_text('module "x" {\n  source = "./nowhere"\n}\n')
    system = SYSTEMS[name]
    version = f"2.{system.version[2:]}"

    done = run(f"v{version}", steps_of(system, "module", f"v{version}"))

    assert done.returncode == 1, done.stdout
    assert (
        f"{NAMESPACE}/vpc/aws {version} is not published:\nFound main.tf, line 1: the source of module x" in done.stdout
    )
    assert shown(live, token, f"modules/{NAMESPACE}/vpc/aws/{version}")["state"] == "rejected"


def test_the_lines_for_a_plain_shell_publish_both_and_can_be_repeated(
    live: Live, repository: Path, run: Run, token: str
) -> None:
    lines = "".join(PLAIN_SHELL).replace(HOST, live.url).replace("lrd_s_…", "$SECRET")
    assert "$SECRET" in lines
    step = Step(["sh", "-eu", "-c"], lines * 2, {"SECRET": "<secret>"})

    done = run("v1.2.0", [step])

    assert done.returncode == 0, done.stdout
    assert done.stdout.count(f"Published {NAMESPACE}/vpc/aws 1.2.0.\n") == 2
    assert done.stdout.count(f"Published {NAMESPACE}/dns 1.2.0.\n") == 2
    assert is_archive_of(repository, shown(live, token, f"modules/{NAMESPACE}/vpc/aws/1.2.0"))


def test_the_script_says_what_larder_says(live: Live, repository: Path, run: Run) -> None:
    publish = Step(["sh", "-c"], 'sh ci/publish.sh "$@"', {"LARDER_URL": live.url, "LARDER_TOKEN": "<secret>"})
    (repository / "module.zip").write_bytes(b"no archive")

    def said(tag: str, command: str, secret: str = "") -> str:
        step = Step(publish.shell, f"sh ci/build.sh 3.0.0 && {command}", publish.environment)
        done = run(tag, [step], *filter(None, [secret]))
        assert done.returncode == 1, done.stdout
        return done.stdout

    module, provider = f"sh ci/publish.sh {NAMESPACE}/vpc/aws", f"sh ci/publish.sh {NAMESPACE}/dns"
    assert "expected a version like 1.2.0 or 1.2.0-rc.1" in said("a", f"{module} v3 module.zip")
    assert "expected a zip, tar.gz or tar.xz archive. Pack" in said("b", f"{module} 3.0.0 module.zip")
    assert "This API token is unknown." in said("c", f"{module} 3.0.0 module.zip", "lrd_s_" + "a" * 42)
    assert "no plugin protocols" in said("d", f"rm dist/*.json; {provider} 3.0.0 dist")
    assert "There is no namespace 'elsewhere'" in said("e", "sh ci/publish.sh elsewhere/dns 3.0.0 dist")
    assert "curl: (26)" in said("f", f"{module} 3.0.0 no-such-file.zip")


def test_a_pull_request_is_told_what_would_happen(live: Live, repository: Path, run: Run) -> None:
    text = f"git archive -o module.zip HEAD && sh ci/check.sh {NAMESPACE}/pr/aws 1.0.0 module.zip"
    step = Step(["sh", "-c"], text, {"LARDER_URL": live.url, "LARDER_TOKEN": "<secret>"})
    assert run("good", [step]).stdout == f"{NAMESPACE}/pr/aws 1.0.0 would be published.\n"
    (repository / "main.tf").unlink()
    assert "expected at least one file there that ends in .tf" in run("bad", [step]).stdout
