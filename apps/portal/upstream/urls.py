"""Routes of the pages about other registries. Each module has its own list."""

from apps.portal.upstream import alarms, providers, upstreams

urlpatterns = [*upstreams.urlpatterns, *providers.urlpatterns, *alarms.urlpatterns]
