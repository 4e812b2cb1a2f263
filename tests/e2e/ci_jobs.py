"""The files of docs/publishing.md as the steps that each CI executes, and a repository and a machine to run them."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests import documents
from tests.live import CHECKOUT

HOST, NAMESPACE = "https://registry.example.com", "acme"
# The shells under which the script runs. BusyBox has its own sed, grep, tr, tar and others as well.
SHELLS = ("dash", "busybox", "bash")
SECTIONS = {
    "github": "GitHub Actions",
    "gitlab": "GitLab CI",
    "azure": "Azure Pipelines",
    "buildkite": "Buildkite",
    "circleci": "CircleCI",
    "bitbucket": "Bitbucket Pipelines",
}
TAGS = {
    "github": {"GITHUB_REF_NAME": "{}"},
    "gitlab": {"CI_COMMIT_TAG": "{}"},
    "azure": {"BUILD_SOURCEBRANCHNAME": "{}", "BUILD_SOURCEBRANCH": "refs/tags/{}"},
    "buildkite": {"BUILDKITE_TAG": "{}"},
    "circleci": {"CIRCLE_TAG": "{}"},
    "bitbucket": {"BITBUCKET_TAG": "{}"},
}
BUILD = f"""set -eu
{CHECKOUT}/bin/tiny-provider dns "$1" dist
"""
MODULE = 'output "greeting" {\n  value = "hello"\n}\n'
MANIFEST = '{"version": 1, "metadata": {"protocol_versions": ["6.0"]}}'


@dataclass(frozen=True)
class Step:
    shell: tuple[str, ...]  # as the system starts it; the text is the last argument
    text: str
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    steps: list[Step]
    audience: str = ""  # that the file asks for


def block(title: str, page: str = "docs/publishing.md") -> str:
    """The file below the heading."""
    found = re.findall(r"```\w+\n(.*?)```", documents.text_of(page).partition(f"\n## {title}\n")[2], re.DOTALL)
    return str(found[0])


def jobs_of(kind: str, text: str) -> dict[str, Job]:
    """By "module" and "provider"."""
    return dict(JOBS[kind](yaml.safe_load(text)))


def _github(document: Any) -> Iterator[tuple[str, Job]]:
    assert document["permissions"] == {"contents": "read", "id-token": "write"}
    for name, job in document["jobs"].items():
        shell = ("bash", "-e", "-c")
        yield name, Job([Step(shell, one["run"], document["env"]) for one in job["steps"] if "run" in one])


def _gitlab(document: Any) -> Iterator[tuple[str, Job]]:
    for name, job in document.items():
        ((variable, asked),) = job["id_tokens"].items()
        assert variable == "LARDER_ID_TOKEN"
        text = "\n".join(job["script"])
        yield name, Job([Step(("bash", "-eo", "pipefail", "-c"), text, job["variables"])], asked["aud"])


def _azure(document: Any) -> Iterator[tuple[str, Job]]:
    for job in document["jobs"]:
        shell = ("bash", "--noprofile", "--norc", "-c")  # a step continues after a command that fails
        steps = [Step(shell, one["script"], document["variables"] | one.get("env", {})) for one in job["steps"]]
        yield job["job"], Job(steps)


def _buildkite(document: Any) -> Iterator[tuple[str, Job]]:
    for step in document["steps"]:
        # The agent replaces variables when it uploads the file: none is set there.
        text = re.sub(r"(?<!\$)\$(?!\$)\{?\w+[^}\"]*\}?", "", step["command"]).replace("$$", "$")
        yield step["key"], Job([Step(("bash", "-e", "-c"), text, document["env"])])


def _circleci(document: Any) -> Iterator[tuple[str, Job]]:
    (workflow,) = document["workflows"].values()
    assert {name for one in workflow["jobs"] for name in one} == document["jobs"].keys()
    for name, job in document["jobs"].items():
        shell, steps = ("bash", "-eo", "pipefail", "-c"), [one for one in job["steps"] if one != "checkout"]
        yield name, Job([Step(shell, one["run"], job["environment"]) for one in steps])


def _bitbucket(document: Any) -> Iterator[tuple[str, Job]]:
    for one in document["pipelines"]["tags"]["v*"]:
        step = one["step"]
        (audience,) = step["oidc"]["audiences"]
        yield step["name"], Job([Step(("sh", "-e", "-c"), "\n".join(step["script"]))], audience)


JOBS = {
    "github": _github,
    "gitlab": _gitlab,
    "azure": _azure,
    "buildkite": _buildkite,
    "circleci": _circleci,
    "bitbucket": _bitbucket,
}


@dataclass
class Machine:
    """A runner with a checkout of a repository. Its `sh` is the shell that is asked for."""

    folder: Path
    larder: str  # URL
    ca: Path
    shell: str = "dash"
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for one in (self.repository / "ci", self.programs, self.applets):
            one.mkdir(parents=True)
        self.write("main.tf", MODULE)
        self.write("ci/build.sh", BUILD)
        self.write("terraform-registry-manifest.json", MANIFEST)
        program = shutil.which(self.shell)
        command = f"{program} sh" if self.shell == "busybox" else program
        self.program("sh", f'#!{program if self.shell != "busybox" else "/bin/sh"}\nexec {command} "$@"\n')
        self.program("sleep", "#!/bin/sh\nexec /bin/sleep 0.05\n")
        if self.shell == "busybox":
            subprocess.run([str(program), "--install", "-s", self.applets], check=True)
            for name in ("sh", "sleep", "wget", "ash"):
                (self.applets / name).unlink(missing_ok=True)
        names = {
            f"GIT_{who}_{what}": "ann@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        # As on a runner whose system trusts the authority of Larder.
        self.environment = {
            "PATH": f"{self.programs}:{self.applets}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "CURL_CA_BUNDLE": str(self.ca),
            **names,
            **self.environment,
        }
        self.git("init", "-q")

    @property
    def repository(self) -> Path:
        return self.folder / "repository"

    @property
    def programs(self) -> Path:
        return self.folder / "programs"

    @property
    def applets(self) -> Path:
        return self.folder / "applets"

    def write(self, name: str, text: str) -> None:
        (self.repository / name).write_text(text)

    def program(self, name: str, text: str) -> None:
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(0o755)

    def git(self, *words: str) -> None:
        environment = {**self.environment, "PATH": os.environ["PATH"]}
        subprocess.run(["git", *words], cwd=self.repository, env=environment, check=True)

    def commit(self, tag: str) -> None:
        self.git("add", ".")
        self.git("commit", "-qm", tag, "--allow-empty")
        self.git("tag", tag)

    def run(self, *steps: Step, told: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        """Run the steps like the system: the first one that fails ends the job."""
        output, done = "", None
        for step in steps:
            written = {name: str(value) for name, value in step.environment.items()} | dict(told or {})
            done = subprocess.run(
                [*step.shell, step.text.replace(HOST, self.larder)],
                cwd=self.repository,
                env=self.environment | {name: value.replace(HOST, self.larder) for name, value in written.items()},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=120,
                check=False,
            )
            output += done.stdout
            if done.returncode:
                break
        assert done is not None
        return subprocess.CompletedProcess(done.args, done.returncode, output)
