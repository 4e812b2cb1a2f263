from apps.room import Room


class OpenIdConnect(Room):
    name = "apps.contrib.openid"
    verbose_name = "OpenID Connect"

    portal_urls = ("apps.contrib.openid.pages",)
    identity_providers = ("providers.OpenIdProvider",)
    sign_in_routes = ("portal:sign-on-callback",)
