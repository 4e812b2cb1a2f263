"""Routes of the API of checks. Each module has its own list."""

from apps.contrib.checks.api import reports, requiring

urlpatterns = [*reports.urlpatterns, *requiring.urlpatterns]
