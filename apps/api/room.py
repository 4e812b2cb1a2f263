from apps.room import Described, Room


class Api(Room):
    name = "apps.api"

    described = (
        Described("teams", {"name": "team"}, rows="teams"),
        Described("roles", {"namespace": "grant-team"}, rows=".namespaces", within="teams", own_first=True),
        Described("members", {"user": "team-member"}, rows=".members", within="teams"),
        Described("service_accounts", {"name": "service-account"}, rows="service-accounts", within="teams"),
        Described("namespaces", {"name": "namespace"}, rows="namespaces", reads="apps.api.namespaces.made_of"),
        Described("grants", {"user": "grant-user", "team": "grant-team"}, rows="grants", within="namespaces"),
        Described(
            "signing_keys",
            {"id": "key"},
            rows="keys",
            within="namespaces",
            identity=("generate", "armor"),
            reads="apps.api.keys.made_of",
        ),
    )
