"""Routes of the registry protocols. Nothing below these prefixes is ever answered with a page."""

from django.urls import re_path

from apps.protocol import archives, discovery, login_v1, mirror_v1, modules_browse, modules_v1, providers_v1
from apps.protocol.base import Unknown

app_name = "protocol"
urlpatterns = [
    *discovery.urlpatterns,
    *modules_v1.urlpatterns,
    *modules_browse.urlpatterns,  # after /versions, so that it is not taken for a version
    *providers_v1.urlpatterns,
    *mirror_v1.urlpatterns,
    *archives.urlpatterns,
    *login_v1.urlpatterns,
    re_path(r"^(?:v1|archives)/", Unknown.as_view()),
]
