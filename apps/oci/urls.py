"""OCI Distribution 1.1 under /v2/. Names hold slashes, so the routes are read from their right end."""

from django.urls import path, re_path

from apps.oci.base import OciView
from apps.oci.errors import NameUnknown
from apps.oci.ping import Ping
from apps.oci.token_views import urlpatterns as token_urls


class Unknown(OciView):
    """What no route knows below /v2/: 404 in this dialect, for every method and everybody."""

    authentication_classes = []

    def initial(self, request: object, *args: object, **kwargs: object) -> None:  # noqa: ARG002
        raise NameUnknown("There is nothing at this address.")


app_name = "oci"
urlpatterns = [
    path("", Ping.as_view(), name="ping"),
    *token_urls,
    # upload_views, blob_views, manifest_views, tag_views: each has its `urlpatterns`
    re_path(r"^", Unknown.as_view()),
]
