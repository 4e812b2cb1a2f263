"""Routes of the HTML site. Each module of pages has its own list."""

from apps.portal import activity, api_docs, browse, help_pages, home, owned
from apps.portal.frame import reauthentication, theme
from apps.portal.lifecycle import several
from apps.portal.modules import settings
from apps.portal.namespaces import cleanup, keys, members, pages
from apps.portal.notify import mail, webhooks
from apps.portal.people import (
    account,
    cli_login,
    invitations,
    passkeys,
    saml,
    second_factor,
    service_accounts,
    sign_on,
    teams,
    tokens,
)
from apps.portal.providers import listing
from apps.portal.publish import module, own_releases, provider, provider_draft, releases, uploads
from apps.portal.search import page as search
from apps.portal.versions import feeds

app_name = "portal"

urlpatterns = [
    *home.urlpatterns,
    *owned.urlpatterns,
    *account.urlpatterns,
    *reauthentication.urlpatterns,
    *activity.urlpatterns,
    *sign_on.urlpatterns,
    *saml.urlpatterns,
    *second_factor.urlpatterns,
    *passkeys.urlpatterns,
    *help_pages.urlpatterns,
    *search.urlpatterns,
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
    *cleanup.urlpatterns,
    *keys.urlpatterns,
    *webhooks.urlpatterns,
    *mail.urlpatterns,
    *teams.urlpatterns,
    *service_accounts.urlpatterns,
    *several.urlpatterns,
    *settings.urlpatterns,  # before /modules/<…>/<version>
    *listing.urlpatterns,
    *feeds.urlpatterns,
    *browse.urlpatterns,
]
