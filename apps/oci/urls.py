"""OCI Distribution 1.1 under /v2/. Names hold slashes, so the routes are read from their right end."""

from django.urls import include, path, re_path

from apps.http.views import NothingHere
from apps.oci.base import OciView
from apps.oci.views.blobs import urlpatterns as blob_urls
from apps.oci.views.lists import urlpatterns as list_urls
from apps.oci.views.manifests import urlpatterns as manifest_urls
from apps.oci.views.tokens import Ping
from apps.oci.views.tokens import urlpatterns as token_urls
from apps.oci.views.uploads import urlpatterns as upload_urls


class Unknown(NothingHere, OciView):
    pass


app_name = "oci"
_below = [
    path("", Ping.as_view(), name="ping"),
    *token_urls,
    *upload_urls,
    *blob_urls,
    *manifest_urls,
    *list_urls,
    re_path(r"^", Unknown.as_view()),
]
urlpatterns = [
    path("", Ping.as_view(), name="ping-without-slash"),  # nobody tells the two apart
    path("/", include(_below)),
]
