"""Links to the repository, commit, ref, workflow and run of each vendor, from verified claims, and the claims that get
none.
"""

from apps.accounts.identity.trusted import links
from apps.accounts.identity.trusted.vendors import VENDORS
from tests.builders.ci_claims import COMMIT, ORG, PROJECT, SHAPES, STEP
from tests.builders.ci_claims import GITHUB_ISSUER as GITHUB
from tests.rows import for_each_row

GITLAB = "https://gitlab.com"
AZURE = f"https://vstoken.dev.azure.com/{ORG}"
BITBUCKET = "https://api.bitbucket.org/2.0/workspaces/acme/pipelines-config/identity/oidc"
CIRCLE, BUILDKITE = f"https://oidc.circleci.com/org/{ORG}", "https://agent.buildkite.com"


def linked(kind: str, issuer: str, **claims: object) -> dict[str, str]:
    host = issuer.removeprefix("https://")
    said = {**SHAPES[kind].claims, **claims}
    filled = {name: one.replace("{host}", host) if isinstance(one, str) else one for name, one in said.items()}
    return links.of(VENDORS[kind], issuer, filled)


def github(site: str) -> dict[str, str]:
    vpc = f"{site}/acme/vpc"
    return {
        "repository": vpc,
        "commit": f"{vpc}/commit/{COMMIT}",
        "ref": f"{vpc}/tree/v1.2.0",
        "workflow": f"{vpc}/blob/{COMMIT}/.github/workflows/release.yml",
        "run": f"{vpc}/actions/runs/971",
        "actor": f"{site}/alice",
    }


def gitlab(site: str) -> dict[str, str]:
    vpc = f"{site}/acme/vpc"
    return {
        "repository": vpc,
        "commit": f"{vpc}/-/commit/{COMMIT}",
        "ref": f"{vpc}/-/tree/main",
        "workflow": f"{vpc}/-/blob/{COMMIT}/.gitlab-ci.yml",
        "run": f"{vpc}/-/pipelines/574",
        "actor": f"{site}/alice",
    }


@for_each_row(
    ("kind", "issuer", "expected"),
    [
        ("github", GITHUB, github("https://github.com")),
        ("github", f"{GITHUB}/acme-corp", github("https://github.com")),
        ("github", "https://token.actions.acme.ghe.com", github("https://acme.ghe.com")),
        ("github", "https://git.acme.example/_services/token", github("https://git.acme.example")),
        ("gitlab", GITLAB, gitlab("https://gitlab.com")),
        ("gitlab", "https://git.acme.example:8443/gitlab", gitlab("https://git.acme.example:8443/gitlab")),
        (
            "azure",
            AZURE,
            {
                "repository": "https://dev.azure.com/acme/infra/_git/vpc",
                "commit": f"https://dev.azure.com/acme/infra/_git/vpc/commit/{COMMIT}",
                "workflow": f"https://dev.azure.com/acme/{PROJECT}/_build?definitionId=17",
                "run": f"https://dev.azure.com/acme/{PROJECT}/_build/results?buildId=88",
            },
        ),
        (
            "bitbucket",
            BITBUCKET,
            {
                "repository": f"https://bitbucket.org/acme/%7B{PROJECT}%7D",
                "ref": f"https://bitbucket.org/acme/%7B{PROJECT}%7D/branch/main",
                "run": f"https://bitbucket.org/acme/%7B{PROJECT}%7D/pipelines/results/%7B{STEP}%7D",
            },
        ),
        (
            "circleci",
            CIRCLE,
            {
                "repository": "https://github.com/acme/vpc",
                "run": f"https://app.circleci.com/pipelines/workflows/{STEP}",
            },
        ),
        (
            "buildkite",
            BUILDKITE,
            {
                "workflow": "https://buildkite.com/acme/vpc",
                "run": "https://buildkite.com/acme/vpc/builds/55",
            },
        ),
        ("oidc", "https://ci.acme.example", {}),
    ],
)
def test_each_vendor_is_linked_by_its_issuer_and_claims(kind, issuer, expected):
    assert linked(kind, issuer) == expected


@for_each_row(
    "issuer",
    [
        "http://127.0.0.1:8080",
        "https://ci.acme.example",
        "https://token.actions.githubusercontent.com.evil.example",
        "https://user@git.acme.example/_services/token",
        "javascript:alert(1)//_services/token",
    ],
)
def test_an_issuer_whose_pages_are_unknown_links_nothing(issuer):
    assert linked("github", issuer) == {}


@for_each_row(
    ("claims", "gone"),
    [
        ({"repository": "../../evil"}, {"repository", "commit", "ref", "run"}),
        ({"repository": "acme/"}, {"repository", "commit", "ref", "run"}),
        ({"repository": ["acme/vpc"]}, {"repository", "commit", "ref", "run"}),
        ({"repository": "a" * 200}, {"repository", "commit", "ref", "run"}),
        ({"sha": ".."}, {"commit"}),
        ({"sha": ""}, {"commit"}),
        ({"ref": "refs/changes/1"}, {"ref"}),
        ({"workflow_ref": "release.yml"}, {"workflow"}),
        ({"actor": "."}, {"actor"}),
    ],
)
def test_a_claim_that_would_lead_elsewhere_links_nothing(claims, gone):
    assert github("https://github.com").keys() - linked("github", GITHUB, **claims).keys() == gone


def test_what_claims_say_is_escaped():
    odd = linked("github", GITHUB, actor='a"><script>?x#y', ref="refs/heads/50%/ä b?c#d")

    assert odd["actor"] == "https://github.com/a%22%3E%3Cscript%3E%3Fx%23y"
    assert odd["ref"] == "https://github.com/acme/vpc/tree/50%25/%C3%A4%20b%3Fc%23d"


@for_each_row(
    ("uri", "repository"),
    [
        ("https://acme@dev.azure.com/acme/infra/_git/vpc", "https://dev.azure.com/acme/infra/_git/vpc"),
        ("https://dev.azure.com/acme/My%20Infra/_git/vpc", "https://dev.azure.com/acme/My%20Infra/_git/vpc"),
        ("https://github.com/acme/vpc.git", "https://github.com/acme/vpc"),
        ("https://dev.azure.com@evil.example/acme", "https://evil.example/acme"),
        ("javascript:alert(1)//x", ""),
        ("http://github.com/acme/vpc", ""),
        ("https://github.com/acme/vpc?a=b", ""),
        ("https://github.com/../vpc", ""),
    ],
)
def test_the_repository_of_azure_is_what_its_claim_names_and_nothing_hidden(uri, repository):
    found = linked("azure", AZURE, rpo_uri=uri)

    assert found.get("repository", "") == repository
    assert ("run" in found) == repository.startswith("https://dev.azure.com/")


@for_each_row("origin", ["javascript:alert(1)", "github.com", "user@github.com/acme/vpc", "//evil.example/x"])
def test_an_origin_of_circleci_that_is_no_repository_links_nothing(origin):
    assert "repository" not in linked("circleci", CIRCLE, **{"oidc.circleci.com/vcs-origin": origin})
