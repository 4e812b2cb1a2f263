"""Routes of the pages of upstreams. Each module has its own list."""

from apps.portal.upstream import policy

urlpatterns = [*policy.urlpatterns]
