"""The HTML site. Each page module ends in its own list."""

from apps.portal import (
    account_page,
    browse,
    downloads,
    home,
    how_to,
    invitations,
    keys,
    members,
    namespaces,
    own_releases,
    provider_draft,
    provider_publish,
    provider_signature,
    providers,
    publish,
    releases,
    settings,
    teams,
    theme,
    tokens,
    uploads,
)

app_name = "portal"

urlpatterns = [
    *home.urlpatterns,
    *account_page.urlpatterns,
    *how_to.urlpatterns,
    *theme.urlpatterns,
    *tokens.urlpatterns,
    *invitations.urlpatterns,
    *publish.urlpatterns,
    *provider_publish.urlpatterns,
    *uploads.urlpatterns,
    *own_releases.urlpatterns,
    *releases.urlpatterns,
    *provider_draft.urlpatterns,
    *namespaces.urlpatterns,  # /namespaces/new, before any /namespaces/<name>
    *members.urlpatterns,
    *keys.urlpatterns,
    *teams.urlpatterns,
    *downloads.urlpatterns,
    *settings.urlpatterns,  # before /modules/<…>/<version>
    *provider_signature.urlpatterns,
    *providers.urlpatterns,
    *browse.urlpatterns,
]
