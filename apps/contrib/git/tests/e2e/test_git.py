"""A tag becomes a version that real clients install: by the commands of docs/git.md, from a real Git server."""

import json
import re
import subprocess
import time
from pathlib import Path

import pytest

from tests import documents
from tests.builders.git_servers import Site
from tests.e2e.pages import HOST, Registry
from tests.e2e.workspace import Workspace
from tests.needs import CLIENTS

pytestmark = [pytest.mark.live, pytest.mark.needs("curl")]
HERE = "apps/contrib/git/tests/e2e/test_git.py::"
PAGE = "docs/git.md"
NAME = "acme/terraform-aws-vpc"
SPACE = "grown"  # in the place of acme, which has releases for other pages
API = "/api/v1/namespaces/{}/repositories"


def module(version: str) -> dict[str, str]:
    return {"main.tf": f'output "greeting" {{\n  value = "hello from {version}"\n}}\n', "README.md": "# vpc\n"}


@pytest.fixture(scope="module")
def registry(example: Registry) -> Registry:
    with example.larder.client(example.manage) as client:
        for name in (SPACE, "push"):
            made = client.put(f"/api/v1/namespaces/{name}", json={"visibility": "private"})
            assert made.status_code == 201, made.text
    return example


def ours(text: str) -> str:
    return text.replace("/namespaces/acme/", f"/namespaces/{SPACE}/")


def asked(registry: Registry, folder: Path, path: str, *words: str) -> dict:
    """Return the answer of the API to curl."""
    command = f'curl -fsS -H "Authorization: Bearer $LARDER_TOKEN" https://{HOST}{path} ' + " ".join(words)
    return json.loads(registry.type(folder, command, LARDER_TOKEN=registry.manage))


def verdicts(registry: Registry, folder: Path, one: str, wanted: dict[str, str], seconds: float) -> dict[str, dict]:
    """The tags, once they have these verdicts."""
    deadline = time.monotonic() + seconds
    while True:
        tags = {tag["tag"]: tag for tag in asked(registry, folder, f"{one}/tags")["tags"]}
        if {name: tag["verdict"] for name, tag in tags.items()} == wanted:
            return tags
        assert time.monotonic() < deadline, tags
        time.sleep(0.2)


def test_the_commands_of_the_page_publish_from_git(registry: Registry, git_server: Site, tmp_path: Path) -> None:
    repository = git_server.repository(NAME)
    for version in ("1.0.0", "1.1.0", "1.2.0"):
        repository.commit(module(version))
        repository.tag(f"v{version}", message=f"Version {version}")
    repository.tag("nightly")
    work = tmp_path / "work"
    work.mkdir()
    connect, publish, retry = documents.run_by(HERE + "test_the_commands_of_the_page_publish_from_git", PAGE)

    text = ours(connect.text).replace("https://github.com", git_server.url)
    connected = json.loads(registry.type(work, text, LARDER_TOKEN=registry.manage))
    assert (connected["state"], connected["webhook"]["secret"][:6]) == ("draft", "whsec_")
    assert connected["webhook"]["url"].startswith(f"https://{HOST}/api/v1/git-hooks/")
    one = f"{API.format(SPACE)}/{connected['id']}"

    def typed(text: str) -> list[dict]:
        lines = re.sub(r"/repositories/7/", f"/repositories/{connected['id']}/", ours(text))
        said = registry.type(
            work,
            lines.replace('" \\\n', '" ').replace("curl", "echo; curl"),
            LARDER_TOKEN=registry.manage,
            LARDER_URL=f"https://{HOST}",
        )
        return [json.loads(line) for line in said.splitlines() if line]

    preview, synced, _ = typed(publish.text)
    assert (preview["state"], synced["state"]) == ("done", "active")
    assert [(tag["tag"], tag["version"], tag["verdict"]) for tag in preview["tags"]] == [
        ("v1.2.0", "1.2.0", "publish"),
        ("v1.1.0", "1.1.0", "publish"),
        ("v1.0.0", "1.0.0", "publish"),
        ("nightly", "", "ignored"),
    ]
    wanted = {"v1.0.0": "published", "v1.1.0": "published", "v1.2.0": "ignored", "nightly": "ignored"}
    tags = verdicts(registry, work, one, wanted, 60)
    assert tags["v1.1.0"]["commit"] == repository.run("rev-parse", "v1.1.0^{commit}")

    # Of the retry on the page: this one was left out.
    [_, tried] = typed(retry.text.replace("v1.1.0", "v1.2.0"))
    assert tried["verdict"] == "waiting"
    verdicts(registry, work, one, wanted | {"v1.2.0": "published"}, 60)


@pytest.mark.parametrize("client", CLIENTS)
def test_clients_install_what_a_tag_published(
    registry: Registry, git_server: Site, tmp_path: Path, client: str
) -> None:
    name = f"{client}-{tmp_path.name}"
    repository = git_server.repository(f"acme/{name}")
    repository.commit({"modules/vpc/main.tf": module("0.9.0")["main.tf"], "other/main.tf": "# not published\n"})
    repository.tag("vpc/v0.9.0")
    fields = json.dumps(
        {
            "url": git_server.url_of(f"acme/{name}"),
            "rules": [{"tag": "{name}/v{version}", "folder": "modules/{name}", "module": f"{{name}}/{client}"}],
        }
    )
    connected = asked(registry, tmp_path, API.format("push"), f"-d '{fields}'")
    one = f"{API.format('push')}/{connected['id']}"
    asked(registry, tmp_path, f"{one}/sync", "-X POST -d '{}'")
    verdicts(registry, tmp_path, one, {"vpc/v0.9.0": "published"}, 60)

    workspace = Workspace(tmp_path / "workspace", client, registry.larder, HOST)
    workspace.environment |= {"HTTPS_PROXY": registry.proxy}
    workspace.credentials(registry.read)
    workspace.module("vpc", f"push/vpc/{client}", "~> 0.9")
    (workspace.work / "outputs.tf").write_text('output "greeting" {\n  value = module.vpc.greeting\n}\n')
    done = workspace.init()

    assert done.returncode == 0, done.stderr
    assert workspace.installed() == {"vpc": "0.9.0"}
    assert "hello from 0.9.0" in workspace.run("apply", "-auto-approve", "-input=false").stdout
    assert not list(workspace.work.rglob("other"))


def test_a_push_to_a_plain_git_server_is_published_within_seconds(
    registry: Registry, git_server: Site, tmp_path: Path
) -> None:
    """The hook of the page, with its two files in another folder, is all that tells Larder."""
    bare = git_server.repository("acme/terraform-aws-push")
    bare.commit(module("1.0.0"))
    bare.tag("v1.0.0")
    rules = json.dumps({"url": git_server.url_of("acme/terraform-aws-push"), "poll_minutes": 1440, "rules": [
        {"tag": "v{version}", "folder": "", "module": "push/aws"}]})  # fmt: skip
    connected = asked(registry, tmp_path, API.format("push"), f"-d '{rules}'")
    one = f"{API.format('push')}/{connected['id']}"
    asked(registry, tmp_path, f"{one}/sync", "-X POST -d '{}'")
    verdicts(registry, tmp_path, one, {"v1.0.0": "published"}, 60)
    (tmp_path / "hook-secret").write_text(connected["webhook"]["secret"])
    (tmp_path / "hook-url").write_text(connected["webhook"]["url"])
    [fence] = documents.run_by(HERE + "test_a_push_to_a_plain_git_server_is_published_within_seconds", PAGE)
    hook = bare.path / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(fence.text.replace("/etc/larder/", f"{tmp_path}/"))
    hook.chmod(0o755)

    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", bare.path, clone], check=True)
    began = time.monotonic()
    registry.type(clone, "git tag v1.1.0 && git push -q origin v1.1.0")
    verdicts(registry, tmp_path, one, {"v1.0.0": "published", "v1.1.0": "published"}, 10)

    assert time.monotonic() - began < 10
    assert asked(registry, tmp_path, one)["webhook"]["last_at"]
