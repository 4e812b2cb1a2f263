"""Routes of the HTML site. Each module of pages has its own list."""

from apps.portal import activity, api_docs, browse, help_pages, home
from apps.portal.frame import theme
from apps.portal.lifecycle import several
from apps.portal.modules import downloads, settings
from apps.portal.namespaces import keys, members, pages
from apps.portal.people import (
    account,
    cli_login,
    invitations,
    second_factor,
    service_accounts,
    sign_on,
    teams,
    tokens,
)
from apps.portal.providers import listing, signature
from apps.portal.publish import module, own_releases, provider, provider_draft, releases, uploads

app_name = "portal"

urlpatterns = [
    *home.urlpatterns,
    *account.urlpatterns,
    *activity.urlpatterns,
    *sign_on.urlpatterns,
    *second_factor.urlpatterns,
    *help_pages.urlpatterns,
    *api_docs.urlpatterns,
    *theme.urlpatterns,
    *tokens.urlpatterns,
    *cli_login.urlpatterns,
    *invitations.urlpatterns,
    *module.urlpatterns,
    *provider.urlpatterns,
    *uploads.urlpatterns,
    *own_releases.urlpatterns,
    *releases.urlpatterns,
    *provider_draft.urlpatterns,
    *pages.urlpatterns,  # /namespaces/new before /namespaces/<name>
    *members.urlpatterns,
    *keys.urlpatterns,
    *teams.urlpatterns,
    *service_accounts.urlpatterns,
    *downloads.urlpatterns,
    *several.urlpatterns,
    *settings.urlpatterns,  # before /modules/<…>/<version>
    *signature.urlpatterns,
    *listing.urlpatterns,
    *browse.urlpatterns,
]
