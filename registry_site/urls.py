"""Mounts the edges."""

from django.contrib import admin
from django.urls import include, path, register_converter

from apps.lib.addresses import Segment
from apps.room import rooms
from registry_site import status
from registry_site.monitoring import page as metrics_page
from registry_site.server import probes

register_converter(Segment, "segment")

urlpatterns = [
    path("healthz", probes.healthz, name="healthz"),
    path("readyz", probes.readyz, name="readyz"),
    path("metrics", metrics_page.metrics, name="metrics"),
    path("status", status.status, name="status"),
    path("", include("apps.protocol.urls", namespace="protocol")),
    path("v2", include("apps.oci.urls", namespace="oci")),
    path("api/v1/", include("apps.api.urls", namespace="api")),
    *(path("", include(name)) for room in rooms() for name in room.root_urls),
    path("admin/", admin.site.urls),
    path("account/", include("apps.portal.people.sign_in")),
    path("", include("apps.portal.urls", namespace="portal")),
]

handler400 = "apps.portal.frame.errors.bad_request"
handler403 = "apps.portal.frame.errors.permission_denied"
handler404 = "apps.portal.frame.errors.page_not_found"
handler500 = "apps.portal.frame.errors.server_error"
