"""The objects behind the routes below /v2/, and the bodies of their requests."""

import uuid

from apps.accounts.access.gate import Viewer
from apps.artifacts import manifests, uploads
from apps.artifacts.names import Digest
from apps.lib.addresses import ModuleAddress
from apps.oci import pushing, repositories
from apps.oci.authentication import Caller
from apps.releases.publishing.quotas import require_bytes

BLOB = b"a blob of the policy"
INDEX = "application/vnd.oci.image.index.v1+json"
RAW = f'{{"schemaVersion": 2, "mediaType": "{INDEX}", "manifests": []}}'.encode()
TAG = "main"
NOTHING = Digest.of(b"")
# A session is finished by the digest of all that came: nothing, here.
QUERIES = {("oci:upload", "PUT"): f"?digest={NOTHING}"}
BODIES = {
    ("oci:manifest", "PUT"): {"data": RAW, "content_type": INDEX},
    ("oci:upload", "PATCH"): {"data": BLOB, "content_type": "application/octet-stream"},
}


def place(namespace, alice):
    """A blob, a tagged index and an upload of Alice's, in the repository of a module."""
    caller = Caller(Viewer(alice), has_token=True)
    repository = repositories.for_push(caller, ModuleAddress(namespace, "vpc", "aws"))
    uploads.whole(repository, Digest.of(BLOB), iter([BLOB]), require_room=require_bytes)
    push = pushing.resolve(caller, repository, TAG, raw=RAW, content_type=INDEX)
    assert push.manifest is not None
    manifests.store(caller.viewer, repository, push.manifest, require_room=require_bytes)
    return values(namespace) | {"number": uploads.begin_session(caller.viewer, repository).pk}


def values(namespace):
    return {
        "name": f"{namespace}/vpc/aws",
        "digest": Digest.of(BLOB),
        "reference": TAG,
        "number": uuid.UUID(int=0),
    }
