"""Routes of the API of upstreams. Each module has its own list."""

from apps.contrib.mirror.api import alarms, lock, policies, providers, upstreams

urlpatterns = [
    *upstreams.urlpatterns,
    *policies.urlpatterns,
    *providers.urlpatterns,
    *alarms.urlpatterns,
    *lock.urlpatterns,
]
