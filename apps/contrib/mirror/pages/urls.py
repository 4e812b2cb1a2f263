"""Routes of the pages about other registries. Each module has its own list."""

from apps.contrib.mirror.pages import alarms, lock, policy, providers, sync, upstreams

urlpatterns = [
    *lock.urlpatterns,
    *sync.urlpatterns,
    *upstreams.urlpatterns,
    *policy.urlpatterns,
    *providers.urlpatterns,
    *alarms.urlpatterns,
]
