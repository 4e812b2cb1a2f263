"""The files with which each CI publishes here, with only an id token: docs/publishing.md has the same.

A rule of a trusted publisher fills in what it names, so that the claims of its run pass.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from apps.accounts.identity.trusted.vendors import VENDORS
from apps.accounts.models import TrustedPublisher
from apps.contrib.trusted import publishers, yaml_text
from apps.snippets import publish_script

EXAMPLES = ("vpc/aws", "dns")  # a module and a provider
# Of a branch, which has no number.
VERSION_FILE = "$(cat VERSION)"
_IMAGE = "buildpack-deps:scm"  # has curl and Git


@dataclass(frozen=True, slots=True)
class Step:
    """A file to copy. `vendor` is the kind of its trusted publishers; `notes`: what the reader adds to it."""

    vendor: str
    label: str
    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """The addresses to publish, and the requirements of the trusted publisher on the run."""

    addresses: tuple[str, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def jobs(self) -> dict[str, str]:
        """By the name of the job, its address: of one module, one provider, or one of each."""
        return {"module" if address.count("/") > 1 else "provider": address for address in self.addresses}

    @property
    def branch(self) -> str:
        """The branch whose runs publish; without one the runs of tags do."""
        named = str(self.fields.get("branch") or self.fields.get("ref") or "")
        if self.fields.get("branch"):
            return named
        return named.removeprefix("refs/heads/") if named.startswith("refs/heads/") else ""

    def named(self, name: str) -> str:
        return str(self.fields.get(name) or "")

    def lines(self, job: str, tag: str) -> list[str]:
        """Download, check, publish. `&&`: not each CI ends a step at the first command that fails."""
        version = VERSION_FILE if self.branch else f"${{{tag}#v}}"
        return publish_script.lines(self.jobs[job], f'"{version}"')

    def build(self, job: str, tag: str) -> str:
        """The build of a provider, which is the publisher's; "" for a module."""
        version = VERSION_FILE if self.branch else f"${{{tag}#v}}"
        return f'sh ci/build.sh "{version}"' if job == "provider" else ""


def of_namespace(name: str) -> list[Step]:
    """For each vendor, with the addresses of an example."""
    return [_step(kind, Plan(tuple(f"{name}/{one}" for one in EXAMPLES))) for kind in _FILES]


def of_rule(rule: TrustedPublisher) -> Step:
    names = (rule.only_name,) if rule.only_name else EXAMPLES
    return _step(rule.kind, Plan(tuple(f"{rule.namespace}/{one}" for one in names), publishers.fields_of(rule)))


def _step(kind: str, plan: Plan) -> Step:
    return Step(kind, VENDORS[kind].label, _FILES[kind](plan), tuple(_notes(kind, plan)))


def _notes(kind: str, plan: Plan) -> Iterator[str]:
    if len(plan.jobs) > 1:
        yield "Keep the job of a module or that of a provider, and write your address."
    if "provider" in plan.jobs:
        yield "ci/build.sh is your build, such as goreleaser release --clean: it writes the zips to dist."
    yield "To send what a scanner found, add its report before the address: --report checkov=results.sarif."
    if plan.branch:
        yield f"The branch {plan.branch} publishes the number in the file VERSION: raise it with each release."
    if kind == "circleci" and plan.named("context"):
        yield f"Replace context-name with the name of the context {plan.named('context')}."
    if kind == "bitbucket" and plan.named("environment"):
        yield f"Replace production with the name of the environment {plan.named('environment')}."
    if kind == "oidc":
        yield "ID_TOKEN is the id token of the run, and TAG its tag."
    if publish_script.has_own_authority():
        yield f"Add {publish_script.CA_FILE} to the repository. Docs has it: How to use, Certificates and proxies."


def _file(name: str, document: Mapping[str, Any]) -> str:
    return f"# {name}\n{yaml_text.document(document)}"


def _block(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


# --- The file of each vendor -----------------------------------------------------------------------------------------


def _github(plan: Plan) -> str:
    def job(name: str) -> dict[str, Any]:
        environment = {"environment": plan.named("environment")} if plan.named("environment") else {}
        build = plan.build(name, "GITHUB_REF_NAME")
        steps = [
            {"uses": "actions/checkout@v4"},
            *([{"run": build}] if build else []),
            {"run": _block(plan.lines(name, "GITHUB_REF_NAME"))},
        ]
        return {"runs-on": "ubuntu-latest", **environment, "steps": steps}

    document = {
        "on": {"push": {"branches": [plan.branch]} if plan.branch else {"tags": ["v*"]}},
        "permissions": {"contents": "read", "id-token": "write"},
        "env": publish_script.variables(),
        "jobs": {name: job(name) for name in plan.jobs},
    }
    return _file(f".github/workflows/{plan.named('workflow') or 'release.yml'}", document)


def _gitlab(plan: Plan) -> str:
    def job(name: str) -> dict[str, Any]:
        environment = {"environment": plan.named("environment")} if plan.named("environment") else {}
        build = plan.build(name, "CI_COMMIT_TAG")
        condition = f'$CI_COMMIT_BRANCH == "{plan.branch}"' if plan.branch else "$CI_COMMIT_TAG =~ /^v/"
        return {
            "image": _IMAGE,
            "rules": [{"if": condition}],
            **environment,
            "variables": publish_script.variables(),
            "id_tokens": {"LARDER_ID_TOKEN": {"aud": settings.PUBLIC_URL}},
            "script": [*([build] if build else []), _block(plan.lines(name, "CI_COMMIT_TAG"))],
        }

    return _file(plan.named("workflow") or ".gitlab-ci.yml", {name: job(name) for name in plan.jobs})


def _azure(plan: Plan) -> str:
    def job(name: str) -> dict[str, Any]:
        build = plan.build(name, "BUILD_SOURCEBRANCHNAME")
        publish = {
            "script": _block(plan.lines(name, "BUILD_SOURCEBRANCHNAME")),
            "env": {"SYSTEM_ACCESSTOKEN": "$(System.AccessToken)"},
        }
        return {"job": name, "steps": [*([{"script": build}] if build else []), publish]}

    tags = {"branches": {"exclude": ["*"]}, "tags": {"include": ["v*"]}}
    document = {
        "trigger": {"branches": {"include": [plan.branch]}} if plan.branch else tags,
        "pool": {"vmImage": "ubuntu-latest"},
        "variables": publish_script.variables(),
        "jobs": [job(name) for name in plan.jobs],
    }
    return _file("azure-pipelines.yml", document)


def _buildkite(plan: Plan) -> str:
    def step(name: str) -> dict[str, Any]:
        build = plan.build(name, "BUILDKITE_TAG")
        lines = [*([build] if build else []), *plan.lines(name, "BUILDKITE_TAG")]
        tag = re.escape(plan.named("tag").removesuffix("*")) or "v"
        return {
            "key": plan.named("step") or name,
            "if": f'build.branch == "{plan.branch}"' if plan.branch else f"build.tag =~ /^{tag}/",
            # `$$`: the upload of the file would replace the variables.
            "command": _block(line.replace("$", "$$") for line in lines),
        }

    document = {"env": publish_script.variables(), "steps": [step(name) for name in plan.jobs]}
    return _file(".buildkite/pipeline.yml", document)


def _circleci(plan: Plan) -> str:
    def job(name: str) -> dict[str, Any]:
        build = plan.build(name, "CIRCLE_TAG")
        return {
            "docker": [{"image": "cimg/base:stable"}],
            "environment": publish_script.variables(),
            "steps": [
                "checkout",
                *([{"run": build}] if build else []),
                {"run": _block(plan.lines(name, "CIRCLE_TAG"))},
            ],
        }

    tags = {"branches": {"ignore": "/.*/"}, "tags": {"only": "/^v.*/"}}
    required: dict[str, Any] = {"filters": {"branches": {"only": plan.branch}} if plan.branch else tags}
    if plan.named("context"):
        required = {"context": "context-name", **required}
    document = {
        "version": 2.1,
        "jobs": {name: job(name) for name in plan.jobs},
        "workflows": {"publish": {"jobs": [{name: required} for name in plan.jobs]}},
    }
    return _file(".circleci/config.yml", document)


def _bitbucket(plan: Plan) -> str:
    def step(name: str) -> dict[str, Any]:
        build = plan.build(name, "BITBUCKET_TAG")
        return {
            "name": name,
            "image": _IMAGE,
            # A trusted publisher names a branch or, by its UUID, an environment.
            **({} if plan.branch else {"deployment": "production"}),
            "oidc": {"audiences": [settings.PUBLIC_URL]},
            "script": [
                *(f"export {variable}={value}" for variable, value in publish_script.variables().items()),
                *([build] if build else []),
                _block(plan.lines(name, "BITBUCKET_TAG")),
            ],
        }

    pattern = {"branches": plan.branch} if plan.branch else {"tags": "v*"}
    steps = [{"step": step(name)} for name in plan.jobs]
    return _file("bitbucket-pipelines.yml", {"pipelines": {kind: {one: steps} for kind, one in pattern.items()}})


def _any(plan: Plan) -> str:
    variables = [f"export {name}={value}" for name, value in publish_script.variables().items()]
    asked = f'export LARDER_ID_TOKEN="$ID_TOKEN"  # an id token of this run with the audience {settings.PUBLIC_URL}'
    return "\n".join([*variables, asked, *(line for name in plan.jobs for line in plan.lines(name, "TAG"))])


_FILES: dict[str, Callable[[Plan], str]] = {
    "github": _github,
    "gitlab": _gitlab,
    "azure": _azure,
    "buildkite": _buildkite,
    "circleci": _circleci,
    "bitbucket": _bitbucket,
    "oidc": _any,
}
