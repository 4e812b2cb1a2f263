"""Make the page of a release, on GitHub or GitLab, from what `bin/image publish` left in dist/.

    python3 bin/release_page.py notes 0.1.0 --image IMAGE@DIGEST --chart CHART@DIGEST   prints the notes
    python3 bin/release_page.py publish v0.1.0                                         makes the page

It needs no package: pipelines call it with the system's Python. Which service it talks to, and with which permission,
follows from the variables that the pipelines of GitHub and GitLab have. What a run has left half done is replaced.
"""

import argparse
import json
import os
import re
import sys
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
NOTES = "notes.md"
SECONDS = 120
ISSUER = "https://token.actions.githubusercontent.com"


class Refused(Exception):
    """The sentence that says what is missing or was answered."""


# --- Notes ------------------------------------------------------------------------------------------------------------


def section(version: str, changelog: str) -> str:
    """Return the part of the changelog about this version, without its heading. Raises Refused if there is none.

    Commits between two releases can be published as well: they have no part.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        return f"Version {version} is a commit between two releases."
    found = re.search(rf"^## {re.escape(version)}(?:, \S+)?$\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if found is None or not found[1].strip():
        raise Refused(f"CHANGELOG.md has no section about {version}.")
    return found[1].strip()


def notes(version: str, *, image: str, chart: str, changelog: str, source: str) -> str:
    """Return the text of the page, in Markdown: what has changed, how to install it, and how to verify all of it.

    Links of the changelog are to files of the tree: they become links to the files of this tag.
    """
    text = section(version, changelog)
    if source:
        text = re.sub(r"\]\((?!https?://|#)([^)]+)\)", rf"]({source}/blob/v{version}/\1)", text)
    identity = f"{source}/.github/workflows/release.yml@refs/tags/v{version}"
    # As cosign takes them: by the pipeline's identity, or by the key that signed.
    signer = f"--certificate-oidc-issuer {ISSUER} \\\n  --certificate-identity {identity}"
    if os.environ.get("COSIGN_KEY"):
        signer = "--key cosign.pub"
    elif os.environ.get("GITLAB_CI"):
        signer = (
            f"--certificate-oidc-issuer {os.environ.get('CI_SERVER_URL', '')} \\\n"
            f"  --certificate-identity {source}//.gitlab-ci.yml@refs/tags/v{version}"
        )
    repository, _, _ = chart.partition("@")
    return f"""{text}

## Install

```sh
helm install larder oci://{repository} --version {version} --values values.yaml
docker pull {image}
```

`larder-{version}-source.tar.gz` is the tree for an installation without containers (docs/deployment.md).

## Verify

```sh
sha256sum --check --ignore-missing SHA256SUMS
cosign verify-blob SHA256SUMS --bundle SHA256SUMS.sigstore.json {signer}
cosign verify {image} {signer}
cosign verify {chart} {signer}
```

`larder-{version}.cdx.json` is the bill of materials (CycloneDX) of the packages in the image. The image carries it as
an attestation.
"""


# --- The page ---------------------------------------------------------------------------------------------------------


class Service:
    """The API of a project: `base` is its address, `headers` has the permission."""

    def __init__(self, base: str, headers: dict[str, str]) -> None:
        self.base, self.headers = base, headers

    def ask(self, method: str, url: str, body: Any = None, *, missing: Any = None) -> Any:
        """Return the JSON of the answer; `missing` for 404. Raises Refused with what the service said."""
        data, kind = (body, "application/octet-stream") if isinstance(body, bytes) else (None, "application/json")
        if body is not None and data is None:
            data = json.dumps(body).encode()
        url = url if "://" in url else f"{self.base}/{url}"
        headers = self.headers | {"Content-Type": kind, "Accept": "application/json", "User-Agent": "larder-release"}
        try:
            with urlopen(Request(url, data, headers, method=method), timeout=SECONDS) as answer:  # noqa: S310  # ours
                text = answer.read()
        except HTTPError as error:
            if error.code == HTTPStatus.NOT_FOUND and missing is not None:
                return missing
            said = error.read(500).decode(errors="replace")
            raise Refused(f"{method} {url} was answered {error.code}: {said}") from None
        except (URLError, OSError) as error:
            raise Refused(f"{method} {url} got no answer: {error}. Run the job again.") from None
        return json.loads(text) if text else {}


def on_github(tag: str, text: str, files: list[Path]) -> str:
    """https://docs.github.com/en/rest/releases: a draft is visible to no one until all files are there."""
    service = Service(
        f"{variable('GITHUB_API_URL')}/repos/{variable('GITHUB_REPOSITORY')}",
        {"Authorization": f"Bearer {variable('GITHUB_TOKEN')}"},
    )
    for one in service.ask("GET", "releases?per_page=100"):
        if one["tag_name"] == tag:
            service.ask("DELETE", f"releases/{one['id']}")
    draft = {"tag_name": tag, "name": f"Larder {tag[1:]}", "body": text, "draft": True}
    page = service.ask("POST", "releases", draft)
    upload = page["upload_url"].partition("{")[0]
    for file in files:
        service.ask("POST", f"{upload}?name={quote(file.name)}", file.read_bytes())
    return str(service.ask("PATCH", f"releases/{page['id']}", {"draft": False})["html_url"])


def on_gitlab(tag: str, text: str, files: list[Path]) -> str:
    """https://docs.gitlab.com/api/releases/, with the files in the package registry of the project."""
    service = Service(
        f"{variable('CI_API_V4_URL')}/projects/{variable('CI_PROJECT_ID')}", {"JOB-TOKEN": variable("CI_JOB_TOKEN")}
    )
    links = []
    for file in files:
        url = f"{service.base}/packages/generic/larder/{tag[1:]}/{quote(file.name)}"
        service.ask("PUT", url, file.read_bytes())
        links.append({"name": file.name, "url": url})
    service.ask("DELETE", f"releases/{quote(tag)}", missing={})
    page = {"tag_name": tag, "name": f"Larder {tag[1:]}", "description": text, "assets": {"links": links}}
    return str(service.ask("POST", "releases", page)["_links"]["self"])


def publish(tag: str) -> str:
    """Make the page of this tag, and return its address."""
    if not (DIST / NOTES).is_file():
        raise Refused("dist/notes.md is missing. Run `bin/image publish` first, which makes dist/.")
    files = sorted(path for path in DIST.iterdir() if path.name != NOTES)
    if not any(f"-{tag[1:]}" in path.name for path in files):
        found = ", ".join(path.name for path in files)
        raise Refused(f"dist/ has no file of {tag}: found {found}. Run `bin/image publish` at that tag.")
    make = on_gitlab if os.environ.get("GITLAB_CI") else on_github
    return make(tag, (DIST / NOTES).read_text(), files)


def variable(name: str) -> str:
    if not (value := os.environ.get(name, "")):
        raise Refused(f"{name} is missing. The pipelines of GitHub and GitLab have it.")
    return value


def main() -> None:
    parser = argparse.ArgumentParser(description="The page of a release.")
    commands = parser.add_subparsers(dest="command", required=True)
    text = commands.add_parser("notes")
    text.add_argument("version")
    text.add_argument("--image", required=True)
    text.add_argument("--chart", required=True)
    commands.add_parser("publish").add_argument("tag")
    given = parser.parse_args()
    if given.command == "notes":
        source, changelog = os.environ.get("SOURCE", ""), (ROOT / "CHANGELOG.md").read_text()
        words = notes(given.version, image=given.image, chart=given.chart, changelog=changelog, source=source)
        sys.stdout.write(words)
    else:
        sys.stdout.write(f"{publish(given.tag)}\n")


if __name__ == "__main__":
    try:
        main()
    except Refused as refused:
        sys.exit(str(refused))
