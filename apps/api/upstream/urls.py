"""Routes of the API of upstreams. Each module has its own list."""

from apps.api.upstream import alarms, providers, upstreams

urlpatterns = [*upstreams.urlpatterns, *providers.urlpatterns, *alarms.urlpatterns]
