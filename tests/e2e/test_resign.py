"""A version that is signed again, with the real client: lock files stay valid, new installs see the new key."""

import pytest

from tests.e2e.providers import download, lock_of, require
from tests.site.processes import eventually

pytestmark = pytest.mark.live


def resign(live, depot, address, version):
    with live.client(depot.token) as client:
        client.post(f"/api/v1/providers/{address}/{version}/resign").raise_for_status()


def signed_by(key_id, live, depot, address):
    """The answer that clients get as soon as that key has signed."""

    def found():
        return download(live, depot.read, address, "1.0.0")

    eventually(lambda: found()["signing_keys"]["gpg_public_keys"][0]["key_id"] == key_id, what="its signature")
    return found()


def test_who_has_it_locked_goes_on_and_old_links_answer(request, live, depot, terraform):
    place = f"anew-{request.node.callspec.params['terraform']}"
    address = f"{place}/dns"
    first = depot.namespace(place, "private")
    depot.publish(address, "1.0.0")
    before = terraform()
    before.credentials(depot.read)
    require(before, address)
    assert f"key ID {first})" in before.init().stdout
    old = download(live, depot.read, address, "1.0.0")
    with live.client() as client:
        old_signature = client.get(old["shasums_signature_url"]).content

    depot.retire(place, first)
    second = depot.generate(place)
    resign(live, depot, address, "1.0.0")
    new = signed_by(second, live, depot, address)

    locked = terraform()
    locked.credentials(depot.read)
    require(locked, address)
    lock_file = (before.work / ".terraform.lock.hcl").read_bytes()
    (locked.work / ".terraform.lock.hcl").write_bytes(lock_file)
    done = locked.init()
    assert done.returncode == 0, done.stderr
    assert f"key ID {second})" in done.stdout
    assert (locked.work / ".terraform.lock.hcl").read_bytes() == lock_file
    fresh = terraform()
    fresh.credentials(depot.read)
    require(fresh, address)
    assert f"key ID {second})" in fresh.init().stdout
    assert lock_of(fresh) == lock_of(before)

    assert [key["key_id"] for key in new["signing_keys"]["gpg_public_keys"]] == [second, first]
    with live.client() as client:
        assert client.get(old["shasums_signature_url"]).content == old_signature
        assert client.get(new["shasums_signature_url"]).content != old_signature
