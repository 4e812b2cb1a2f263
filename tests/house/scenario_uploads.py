"""The bodies of requests that bring a release its bytes, at once or in several requests."""

from django.conf import settings

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.modules.uploads import Uploads
from apps.releases.publishing.resuming import Announced
from tests.api.tus_client import MEDIA_TYPE
from tests.builders.archives import module_zip

ARCHIVE = module_zip(comment=b"policy")
ORIGIN = {"Origin": settings.PUBLIC_URL}
_FORM = "multipart/form-data; boundary=cut"
_LENGTH = {"Upload-Length": str(len(ARCHIVE))}
_PIECE = {"Upload-Offset": "0", **_LENGTH}


def raw(**headers):
    return {"data": ARCHIVE, "content_type": "application/zip", "headers": headers}


def form(name="vpc.zip"):
    head = f'--cut\r\nContent-Disposition: form-data; name="archive"; filename="{name}"\r\n\r\n'.encode()
    return {"data": head + ARCHIVE + b"\r\n--cut--\r\n", "content_type": _FORM, "headers": ORIGIN}


def piece(**headers):
    return {"data": ARCHIVE, "content_type": MEDIA_TYPE, "headers": {**_PIECE, **headers}}


BODIES = {
    ("api:module-release", "PUT"): raw(),
    ("api:module-uploads", "POST"): {"headers": _LENGTH},
    ("api:provider-file", "PUT"): raw(),
    ("api:provider-file-uploads", "POST"): {"headers": _LENGTH},
    ("api:provider-docs", "PUT"): raw(),
    ("api:upload", "PATCH"): piece(),
    ("portal:release-file", "PUT"): raw(**ORIGIN),
    ("portal:release-file", "PATCH"): piece(**ORIGIN),
    ("portal:release-file", "DELETE"): {"headers": ORIGIN},
    ("portal:upload", "PUT"): raw(**ORIGIN),
    ("portal:upload", "PATCH"): piece(**ORIGIN),
    ("portal:upload", "DELETE"): {"headers": ORIGIN},
    ("portal:upload", "POST"): form(),
    ("portal:provider-docs-archive", "POST"): form(),
}


def begun(namespace, alice):
    """The number of an upload of Alice's."""
    address = ModuleAddress(namespace, "vpc", "aws")
    viewer, announced = Viewer(alice), Announced(len(ARCHIVE))
    return Uploads(viewer).start(address=address, version="9.2.0", announced=announced).pk


# What asks for another version than the published one: a number that nobody holds, or that of Alice's draft.
OTHER_VERSIONS = {
    ("api:module-release", "PUT"): "2.0.0",
    ("api:provider-release", "POST"): "2.0.0",
    ("api:provider-release", "DELETE"): "3.0.0",
    ("api:provider-file", "PUT"): "3.0.0",
    ("api:provider-file", "DELETE"): "3.0.0",
    ("api:provider-file-uploads", "POST"): "3.0.0",
    ("api:module-uploads", "POST"): "2.0.0",
    ("api:provider-publish", "POST"): "3.0.0",
    **{("portal:release-file", method): "3.0.0" for method in ("PUT", "PATCH", "DELETE")},
    ("portal:release-file-remove", "POST"): "3.0.0",
}
