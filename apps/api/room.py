from apps.room import Described, Room


class Api(Room):
    name = "apps.api"

    described = (
        Described("teams", {"name": "team"}, "apps.api.people.teams.described"),
        Described("roles", {"namespace": "grant-team"}, "apps.api.people.teams.roles", within="teams", own_first=True),
        Described("members", {"user": "team-member"}, "apps.api.people.teams.members", within="teams"),
        Described(
            "service_accounts",
            {"name": "service-account"},
            "apps.api.people.service_accounts.described",
            within="teams",
        ),
        Described("namespaces", {"name": "namespace"}, "apps.api.namespaces.described"),
        Described(
            "grants",
            {"user": "grant-user", "team": "grant-team"},
            "apps.api.people.grants.described",
            within="namespaces",
        ),
        Described(
            "signing_keys",
            {"id": "key"},
            "apps.api.keys.described",
            rows="keys",
            within="namespaces",
            identity=("generate", "armor"),
        ),
    )
