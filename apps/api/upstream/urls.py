"""Routes of the API about other registries."""

from apps.api.upstream import policies

urlpatterns = [
    *policies.urlpatterns,
]
