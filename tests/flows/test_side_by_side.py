"""A rolling upgrade: the version before goes on beside this one, on a database that this one has migrated."""

import hashlib
import re
import subprocess
from pathlib import Path

import httpx
import pytest

from tests import postgres
from tests.builders.archives import module_zip
from tests.live import ADMIN_PASSWORD, Live, start_live
from tests.programs import git, version_before
from tests.site.processes import descendants

pytestmark = [
    pytest.mark.live,
    pytest.mark.needs("history", "postgres"),
    pytest.mark.embedded("its two Larders share a database and a folder"),
]
MODULE = "rolling/vpc/aws"


@pytest.fixture
def checkout_before(tmp_path: Path) -> Path:
    checkout = tmp_path / "before"
    checkout.mkdir()
    # By tar, not tarfile: the filter of its extractall came with Python 3.11.4, and Debian 12 has 3.11.2.
    subprocess.run(["tar", "-x", "-C", checkout], input=git("archive", version_before()), check=True)
    return checkout


def publish(larder: Live, version: str, token: str) -> None:
    release = larder.publish(MODULE, version, module_zip(comment=version.encode()), token)
    assert release["state"] == "published", release
    worker = larder.query("SELECT worker FROM jobs_job WHERE kind = 'publish-module' ORDER BY id DESC LIMIT 1")
    assert int(worker.rpartition(":")[2]) in descendants(larder.process.pid), "by a worker of the same version"


def read(larder: Live, token: str) -> dict[str, str]:
    """The digest of what each version's download brings."""
    with larder.client(token, follow_redirects=True) as client:
        listed = client.get(f"/v1/modules/{MODULE}/versions").json()["modules"][0]["versions"]
        found = {}
        for version in [one["version"] for one in listed]:
            place = client.get(f"/v1/modules/{MODULE}/{version}/download").json()["location"].partition("?")[0]
            found[version] = hashlib.sha256(client.get(place).raise_for_status().content).hexdigest()
    return found


def sign_in(client: httpx.Client) -> httpx.Response:
    page = client.get("/account/login/")
    [csrf] = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text))
    form = {"login": "admin", "password": ADMIN_PASSWORD, "csrfmiddlewaretoken": csrf}
    return client.post(str(page.url), data=form, headers={"Referer": str(page.url)})


def test_the_version_before_goes_on_while_this_one_takes_over(checkout_before: Path, tmp_path: Path) -> None:
    (tmp_path / "secret_key").write_text("correct horse battery staple and more\n")
    (tmp_path / "kek").write_text("5a" * 32 + "\n")
    shared = {
        "LARDER_DATABASE_URL": postgres.Server().url,
        "LARDER_STORAGE_URL": f"file://{tmp_path / 'blobs'}",
        "LARDER_SECRET_KEY_FILE": str(tmp_path / "secret_key"),
        "LARDER_SIGNING_KEK_FILE": str(tmp_path / "kek"),
        "LARDER_TLS": "off",
    }
    sent = {
        version: hashlib.sha256(module_zip(comment=version.encode())).hexdigest()
        for version in ("1.0.0", "1.1.0", "1.2.0")
    }
    with start_live(tmp_path / "older", checkout_before, why="it is the version before", **shared) as older:
        token = older.token()
        with older.client(token) as client:
            client.put("/api/v1/namespaces/rolling", json={"visibility": "private"}).raise_for_status()
        publish(older, "1.0.0", token)
        with start_live(
            tmp_path / "newer", why="it takes over from the version before", **shared
        ) as newer:  # it migrates first
            publish(older, "1.1.0", token)
            publish(newer, "1.2.0", newer.token())
            assert read(older, token) == read(newer, token) == sent
            with older.client(follow_redirects=True) as browser:
                assert "/account/login/" not in str(sign_in(browser).url)
                session = dict(browser.cookies)
                assert browser.get(f"/modules/{MODULE}").status_code == 200
            with newer.client(cookies=session) as browser:
                assert browser.get(f"/modules/{MODULE}").status_code == 200
    for larder in (older, newer):
        assert larder.process.returncode == 0
        assert '"level": "error"' not in larder.output.read_text()
