"""The provider cases of the conformance list, with the real terraform against the live TLS server."""

import httpx
import pytest

from tests.e2e.providers import PLATFORMS, download, lock_of, require, said_by, sha256, sums_of
from tests.e2e.server.proxy import proxy
from tests.e2e.workspace import access_lines, said

pytestmark = pytest.mark.live

ALL = ["shed/dns", "shed/names", "yard/dns", "yard/names"]


@pytest.mark.full
@pytest.mark.parametrize("address", ALL)
@pytest.mark.smoke
def test_case_18_it_installs_says_who_signed_and_locks_every_hash(live, depot, terraform, address):
    workspace = terraform()
    is_private = address.startswith("shed/")
    if is_private:
        workspace.credentials(depot.read)
    require(workspace, address)
    mark = said(live)

    done = workspace.init()

    assert done.returncode == 0, done.stderr
    key_id = download(live, depot.read, address, "1.1.0")["signing_keys"]["gpg_public_keys"][0]["key_id"]
    assert address.endswith("/names") or key_id == depot.publisher.key_id
    assert f"Installed {workspace.host}/{address} v1.1.0 (" in done.stdout
    assert f"signed, key ID {key_id})" in done.stdout
    lines = [line for line in access_lines(live, mark) if line.get("auth") is not None]
    asked = [(line["method"], line["auth"], line["status"]) for line in lines if line["method"] == "GET"]
    token = "bearer" if is_private else "none"
    assert asked[:6] == [("GET", token, 200)] * 3 + [("GET", "none", 200)] * 3
    lock = lock_of(workspace)
    assert lock["zh"] == set(sums_of(live, download(live, depot.read, address, "1.1.0")).values())
    assert len(lock["h1"]) == 1


def test_case_22_of_two_keys_the_second_may_be_the_right_one(live, depot, terraform):
    """Larder gives the right one first; here a proxy puts another before it."""
    other = download(live, depot.read, "yard/names", "1.1.0")["signing_keys"]["gpg_public_keys"][0]

    def prepended(path: str, answer: httpx.Response) -> httpx.Response:
        if "/download/" not in path:
            return answer
        document = answer.json()
        document["signing_keys"]["gpg_public_keys"].insert(0, other)
        return httpx.Response(200, json=document)

    with proxy(live, prepended) as between:
        workspace = terraform(host=between.host)
        require(workspace, "yard/dns")
        done = workspace.init()

    assert done.returncode == 0, done.stderr
    assert f"signed, key ID {depot.publisher.key_id})" in done.stdout


def test_providers_lock_for_three_platforms_records_each_of_them(live, depot, terraform):
    workspace = terraform()
    workspace.credentials(depot.read)
    require(workspace, "shed/names")

    done = workspace.run("providers", "lock", *(f"-platform={platform}" for platform in PLATFORMS))

    assert done.returncode == 0, done.stderr
    lock = lock_of(workspace)
    assert len(lock["h1"]) == len(PLATFORMS)
    assert lock["zh"] == set(sums_of(live, download(live, depot.read, "shed/names", "1.1.0")).values())


def test_providers_mirror_fetches_what_was_published(live, depot, terraform):
    workspace = terraform()
    workspace.credentials(depot.read)
    require(workspace, "shed/names")
    target = workspace.folder / "mirrored"
    target.mkdir()

    done = workspace.run("providers", "mirror", "-platform=linux_amd64", "-platform=darwin_arm64", str(target))

    assert done.returncode == 0, done.stderr
    lines = sums_of(live, download(live, depot.read, "shed/names", "1.1.0"))
    zips = {path.name: sha256(path.read_bytes()) for path in target.rglob("*.zip")}
    assert sorted(zips) == sorted(name for name in lines if "linux_arm64" not in name)
    assert all(lines[name] == digest for name, digest in zips.items())


def test_after_a_rotation_who_has_a_lock_file_goes_on_and_others_see_the_new_key(request, live, depot, terraform):
    place = f"turn-{request.node.callspec.params['terraform']}"
    first = depot.namespace(place)
    depot.publish(f"{place}/dns", "1.0.0")
    before = terraform()
    require(before, f"{place}/dns")
    assert f"key ID {first})" in before.init().stdout
    depot.retire(place, first)
    second = depot.generate(place)
    depot.publish(f"{place}/dns", "1.1.0")
    assert second != first

    locked = terraform()
    require(locked, f"{place}/dns")
    (locked.work / ".terraform.lock.hcl").write_bytes((before.work / ".terraform.lock.hcl").read_bytes())
    done = locked.init()
    assert done.returncode == 0, done.stderr
    assert "v1.0.0 (" in done.stdout
    assert f"key ID {first})" in done.stdout

    fresh = terraform()
    require(fresh, f"{place}/dns")
    assert f"key ID {second})" in fresh.init().stdout


def test_a_yank_hits_who_has_it_locked_and_its_end_heals_them(request, live, depot, terraform):
    address = f"yard/gone-{request.node.callspec.params['terraform']}"
    for version in ("1.0.0", "1.1.0"):
        depot.publish(address, version)
    workspace = terraform()
    require(workspace, address)
    assert workspace.init().returncode == 0
    depot.act(address, "1.1.0", "yank")

    fresh = terraform()
    require(fresh, address)
    assert "v1.0.0 (" in fresh.init().stdout
    again = terraform()
    require(again, address)
    (again.work / ".terraform.lock.hcl").write_bytes((workspace.work / ".terraform.lock.hcl").read_bytes())
    done = again.init()
    assert done.returncode == 1
    assert "no longer available" in said_by(done)
    depot.act(address, "1.1.0", "restore")
    assert again.init().returncode == 0


def test_a_deprecation_is_shown_at_every_init(request, live, depot, terraform):
    address = f"yard/old-{request.node.callspec.params['terraform']}"
    depot.publish(address, "1.0.0")
    depot.act(address, "1.0.0", "deprecate")
    workspace = terraform()
    require(workspace, address)

    for _ in range(2):
        done = workspace.init()
        assert done.returncode == 0, done.stderr
        assert "Additional provider information from registry" in said_by(done)
        assert "version 1.0.0 is deprecated: It loses data." in said_by(done)
