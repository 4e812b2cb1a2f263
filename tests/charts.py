"""The chart in deploy/helm, rendered by helm."""

import subprocess
from functools import cache
from typing import Any

import yaml

from tests.live import CHECKOUT
from tests.programs import HELM

CHART = CHECKOUT / "deploy" / "helm" / "larder"
EXAMPLES = sorted(path.stem for path in (CHART / "examples").glob("*.yaml"))
Document = dict[str, Any]


def helm(*arguments: str) -> str:
    return subprocess.run([HELM, *arguments], capture_output=True, text=True, check=True).stdout


def refusal(*values: str) -> str:
    """Why helm does not render these."""
    words = ["template", "here", str(CHART), *values]
    done = subprocess.run([HELM, *words], capture_output=True, text=True, check=False)
    assert done.returncode != 0, done.stdout
    return done.stderr


def values_of(example: str) -> list[str]:
    """Each is about one thing, and goes with the values that have no default."""
    return [word for name in ("minimal", example) for word in ("--values", str(CHART / "examples" / f"{name}.yaml"))]


@cache
def rendered(*values: str) -> list[Document]:
    return [one for one in yaml.safe_load_all(helm("template", "here", str(CHART), *values)) if one]


def example(name: str, *values: str) -> list[Document]:
    return rendered(*values_of(name), *values)


def of_kind(kind: str, documents: list[Document]) -> dict[str, Document]:
    """By their names without the release's: `web`, `worker` and so on, or nothing for the chart's own."""
    found = [one for one in documents if one["kind"] == kind]
    return {one["metadata"]["name"].removeprefix("here-larder").lstrip("-"): one for one in found}


def templates(documents: list[Document]) -> dict[str, Document]:
    """The template of each pod, by component."""
    specs = [one["spec"] for one in documents if one["kind"] in ("Deployment", "Job")]
    specs += [one["spec"]["jobTemplate"]["spec"] for one in documents if one["kind"] == "CronJob"]
    found = [one["template"] for one in specs]
    return {one["metadata"]["labels"]["app.kubernetes.io/component"]: one for one in found}


def pods(documents: list[Document]) -> dict[str, Document]:
    return {name: one["spec"] for name, one in templates(documents).items()}


def containers(documents: list[Document]) -> dict[str, Document]:
    return {name: one["containers"][0] for name, one in pods(documents).items()}


def variables(documents: list[Document]) -> dict[str, dict[str, str]]:
    """The variables of each pod that are written in it."""
    return {
        name: {each["name"]: each["value"] for each in one["env"] if "value" in each}
        for name, one in containers(documents).items()
    }
