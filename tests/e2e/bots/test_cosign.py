"""docs/recipes/tools.md: signatures beside a published version, pushed as cosign 2 and 3 push them."""

import json

import pytest

from tests.builders.attestations import BUNDLE, bundle
from tests.e2e.oci.clients import EMPTY, IMAGE, Pusher, digest_of
from tests.e2e.pages import Registry

pytestmark = [pytest.mark.live, pytest.mark.needs("curl")]
NAME = "acme/vpc/aws"
SIMPLE_SIGNING = "application/vnd.dev.cosign.simplesigning.v1+json"


def signature(payload: bytes, *, media_type: str, **more: object) -> bytes:
    """A manifest with one layer, as cosign pushes it."""
    fields = {
        "schemaVersion": 2,
        "mediaType": IMAGE,
        "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": digest_of(EMPTY), "size": len(EMPTY)},
        "layers": [{"mediaType": media_type, "digest": digest_of(payload), "size": len(payload)}],
        **more,
    }
    return json.dumps(fields).encode()


def attach(registry: Registry, raw: bytes, payload: bytes, reference: str) -> None:
    pusher = Pusher(registry.larder, registry.manage)
    for data in (EMPTY, payload):
        pusher.blob(NAME, data)
    with registry.larder.client(registry.manage) as client:
        answer = client.put(f"/v2/{NAME}/manifests/{reference}", content=raw, headers={"Content-Type": IMAGE})
        assert answer.status_code == 201, answer.text


def manifest_of(registry: Registry, reference: str) -> tuple[str, bytes]:
    with registry.larder.client(registry.read) as client:
        answer = client.get(f"/v2/{NAME}/manifests/{reference}", headers={"Accept": IMAGE}).raise_for_status()
        return answer.headers["Docker-Content-Digest"], answer.content


def test_a_signature_by_tag_and_a_bundle_by_subject_belong_to_the_version(registry: Registry) -> None:
    """cosign 2 pushes the tag sha256-….sig, cosign 3 a bundle whose subject is the version's manifest."""
    digest, version = manifest_of(registry, "1.0.0")
    tag = f"{digest.replace(':', '-')}.sig"
    by_tag = signature(b'{"critical":{}}', media_type=SIMPLE_SIGNING)
    subject = {"mediaType": IMAGE, "digest": digest, "size": len(version)}
    about_it = bundle(digest.removeprefix("sha256:"))
    by_subject = signature(about_it, media_type=BUNDLE, artifactType=BUNDLE, subject=subject)

    attach(registry, by_tag, b'{"critical":{}}', tag)
    attach(registry, by_subject, about_it, digest_of(by_subject))

    assert manifest_of(registry, tag)[1] == by_tag
    with registry.larder.client(registry.read) as client:
        referrers = client.get(f"/v2/{NAME}/referrers/{digest}").json()["manifests"]
        versions = client.get(f"/v1/modules/{NAME}/versions").json()["modules"][0]["versions"]
    assert [one["digest"] for one in referrers if one["artifactType"] == BUNDLE] == [digest_of(by_subject)]
    assert [one["version"] for one in versions] == ["1.2.0", "1.0.0"], "no signature is a release"
    assert manifest_of(registry, "1.0.0") == (digest, version)
