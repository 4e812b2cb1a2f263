"""Routes of the HTML site. Each module of pages has its own list."""

from apps import room
from apps.portal import home, publish_script
from apps.portal.frame import branding, context, reauthentication
from apps.portal.help import api, how_to
from apps.portal.help import pages as docs
from apps.portal.modules import pages as modules
from apps.portal.namespaces import access, connections, keys, members, publishing
from apps.portal.namespaces import pages as namespaces
from apps.portal.people import (
    account,
    activity,
    cli_login,
    invitations,
    mail,
    person,
    second_factor,
    service_accounts,
    sign_on,
    teams,
    tokens,
)
from apps.portal.providers import docs as provider_docs
from apps.portal.providers import pages as providers
from apps.portal.providers import uploads as provider_uploads
from apps.portal.publish import approvals, module, own_releases, provider, provider_draft, releases, uploads
from apps.portal.search import lists
from apps.portal.search import page as search
from apps.portal.versions import lifecycle_several

app_name = "portal"

urlpatterns = [
    *home.urlpatterns,
    *account.urlpatterns,
    *reauthentication.urlpatterns,
    *activity.urlpatterns,
    *sign_on.urlpatterns,
    *second_factor.urlpatterns,
    *how_to.urlpatterns,
    *docs.urlpatterns,
    *search.urlpatterns,
    *lists.urlpatterns,
    *api.urlpatterns,
    *publish_script.urlpatterns,
    *context.urlpatterns,
    *branding.urlpatterns,
    *tokens.urlpatterns,
    *cli_login.urlpatterns,
    *invitations.urlpatterns,
    *module.urlpatterns,
    *provider.urlpatterns,
    *uploads.urlpatterns,
    *own_releases.urlpatterns,
    *approvals.urlpatterns,
    *releases.urlpatterns,
    *provider_draft.urlpatterns,
    *namespaces.urlpatterns,
    *access.urlpatterns,
    *members.urlpatterns,
    *publishing.urlpatterns,
    *connections.urlpatterns,
    *keys.urlpatterns,
    *mail.urlpatterns,
    *teams.urlpatterns,
    *person.urlpatterns,
    *service_accounts.urlpatterns,
    *lifecycle_several.urlpatterns,
    *room.urls("portal_urls"),
    *modules.urlpatterns,
    *providers.urlpatterns,
    *provider_docs.urlpatterns,
    *provider_uploads.urlpatterns,
]
