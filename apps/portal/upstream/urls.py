"""Routes of the pages about other registries. Each module has its own list."""

from apps.portal.upstream import lock, sync

urlpatterns = [*lock.urlpatterns, *sync.urlpatterns]
