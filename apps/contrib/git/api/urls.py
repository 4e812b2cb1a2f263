"""Routes of the API of Git repositories. Each module has its own list."""

from apps.contrib.git.api import hooks, previews, repositories, tags

urlpatterns = [*repositories.urlpatterns, *previews.urlpatterns, *tags.urlpatterns, *hooks.urlpatterns]
