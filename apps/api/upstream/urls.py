"""Routes of the API of upstreams. Each module has its own list."""

from apps.api.upstream import policies, upstreams

urlpatterns = [
    *upstreams.urlpatterns,
    *policies.urlpatterns,
]
