"""Routes of the API of upstreams. Each module has its own list."""

from apps.api.upstream import upstreams

urlpatterns = [*upstreams.urlpatterns]
