from apps.room import Room


class Saml(Room):
    name = "apps.contrib.saml"
    verbose_name = "SAML"

    portal_urls = ("apps.contrib.saml.pages",)
    identity_providers = ("providers.SamlProvider",)
    sign_in_routes = ("portal:saml-finish",)
