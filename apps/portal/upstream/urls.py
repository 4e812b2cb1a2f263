"""Routes of the pages about other registries. Each module has its own list."""

from apps.portal.upstream import alarms, policy, providers, upstreams

urlpatterns = [
    *upstreams.urlpatterns,
    *policy.urlpatterns,
    *providers.urlpatterns,
    *alarms.urlpatterns,
]
