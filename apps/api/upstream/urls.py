"""Routes of the API of upstreams. Each module has its own list."""

from apps.api.upstream import lock, upstreams

urlpatterns = [*upstreams.urlpatterns, *lock.urlpatterns]
