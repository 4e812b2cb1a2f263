"""The vendors whose id tokens Larder exchanges, each as one declaration. None of them matches `sub`: its format is the
vendor's to change, and GitHub's has changed.

None of them was asked from here. The claims of GitHub, GitLab, Azure and CircleCI are those of public examples; no
example of Bitbucket or Buildkite tells a pull request, so `one_of` requires a branch, tag or environment there.
"""

from datetime import timedelta

from apps.accounts.identity.trusted.declarations import Actor, Field, How, Refusal, Vendor

_UNREVIEWED = "a pull request can bring code without a review"
_UNREVIEWED_MERGE = "a merge request can bring code without a review"
_SHORT_REF = r"refs/(?:heads|tags)/(?P<short_ref>.+)"

GITHUB = Vendor(
    kind="github",
    label="GitHub Actions",
    issuer="https://token.actions.githubusercontent.com",
    fields=(
        Field(
            "repository",
            "Repository",
            "repository",
            How.CASELESS,
            example="acme/vpc",
            is_required=True,
            identifies=True,
            pattern="[^/ ]+/[^/ ]+",
        ),
        Field("repository_id", "Repository id", "repository_id", How.ID, example="1296269", pins=True, identifies=True),
        Field("owner_id", "Owner id", "repository_owner_id", How.ID, example="9919", pins=True),
        Field(
            "workflow",
            "Workflow file",
            "workflow_ref",
            How.FILE,
            example="release.yml",
            is_required=True,
            template="{repository}/.github/workflows/{workflow}@",
            strips=".github/workflows/",
        ),
        Field(
            "reusable_workflow",
            "Reusable workflow",
            "job_workflow_ref",
            How.FILE,
            help="Only if the job that publishes is in another workflow file, perhaps of another repository.",
            example="acme/shared/.github/workflows/publish.yml",
            pattern="[^/ ]+/[^/ ]+/.+",
            template="{reusable_workflow}@",
            otherwise="{repository}/.github/workflows/{workflow}@",
            is_lenient=True,
        ),
        Field("environment", "Environment", "environment", How.CASELESS, example="production"),
        Field("ref", "Ref", "ref", How.REF, example="refs/tags/v*"),
        Field("protected_ref", "Only protected refs", "ref_protected", How.TRUE),
    ),
    refusals=(
        Refusal(
            "event_name",
            _UNREVIEWED,
            values=frozenset(
                {"pull_request", "pull_request_review", "pull_request_review_comment", "merge_group"},
            ),
        ),
        Refusal(
            "event_name",
            "it runs with the rights of this repository for a pull request from a fork",
            values=frozenset({"pull_request_target", "workflow_run"}),
        ),
        Refusal("ref", _UNREVIEWED, beginnings=("refs/pull/",)),
        Refusal("head_ref", _UNREVIEWED, any_value=True),
    ),
    present=("event_name", "ref"),
    protects=("environment", "ref", "protected_ref"),
    origin={
        "repository": "repository",
        "commit": "sha",
        "ref": "ref",
        "workflow": "workflow_ref",
        "run": "run_id",
        "actor": "actor",
    },
    actor=Actor(ids=("actor_id",)),
    links={
        "repository": "{site}/{repository}",
        "commit": "{site}/{repository}/commit/{sha}",
        "ref": "{site}/{repository}/tree/{short_ref}",
        "workflow": "{site}/{workflow_repository}/blob/{workflow_sha}/{workflow_file}",
        "run": "{site}/{repository}/actions/runs/{run_id}",
        "actor": "{site}/{actor}",
    },
    parts={
        "ref": _SHORT_REF,
        "workflow_ref": r"(?P<workflow_repository>[^/@]+/[^/@]+)/(?P<workflow_file>[^@]+)@.+",
    },
    # An enterprise has its own path there, its own host in ghe.com, or its own server.
    sites=(
        (r"https://token\.actions\.githubusercontent\.com(?:/[\w-]+)?", "https://github.com"),
        (r"https://token\.actions\.([a-z0-9-]+\.ghe\.com)", r"https://\1"),
        (r"https://([a-z0-9.:-]+)/_services/token", r"https://\1"),
    ),
)

GITLAB = Vendor(
    kind="gitlab",
    label="GitLab CI/CD",
    issuer="https://gitlab.com",
    fields=(
        Field(
            "repository",
            "Project path",
            "project_path",
            How.CASELESS,
            example="acme/vpc",
            is_required=True,
            identifies=True,
            pattern="[^/ ]+(?:/[^/ ]+)+",
        ),
        Field("repository_id", "Project id", "project_id", How.ID, example="278964", pins=True, identifies=True),
        Field("owner_id", "Namespace id", "namespace_id", How.ID, example="9970", pins=True),
        Field("workflow", "Pipeline file", example=".gitlab-ci.yml", is_required=True),
        Field(
            "reusable_workflow",
            "Pipeline file of another project",
            "ci_config_ref_uri",
            How.FILE,
            help="Only if the project takes its pipeline file from another project.",
            example="acme/shared//publish.yml",
            template="{host}/{reusable_workflow}@",
            otherwise="{host}/{repository}//{workflow}@",
        ),
        Field("environment", "Environment", "environment", How.TEXT, example="production"),
        Field("ref", "Ref", "ref_path", How.REF, example="refs/tags/v*"),
        Field("protected_ref", "Only protected refs", "ref_protected", How.TRUE),
    ),
    refusals=(
        Refusal(
            "pipeline_source",
            _UNREVIEWED_MERGE,
            values=frozenset({"merge_request_event", "external_pull_request_event"}),
        ),
        # Child pipelines of a merge request have the source parent_pipeline; their ref tells.
        Refusal(
            "ref_path",
            _UNREVIEWED_MERGE,
            beginnings=("refs/merge-requests/", "refs/pull/"),
        ),
    ),
    present=("pipeline_source", "ref_path"),
    # In a merge request's pipeline `project_*` name the fork.
    same=(("job_project_id", "project_id"), ("job_namespace_id", "namespace_id")),
    protects=("environment", "ref", "protected_ref"),
    origin={
        "repository": "project_path",
        "commit": "sha",
        "ref": "ref_path",
        "workflow": "ci_config_ref_uri",
        "run": "pipeline_id",
        "actor": "user_login",
    },
    actor=Actor(ids=("user_id",), addresses=("user_email",), identities="user_identities"),
    links={
        "repository": "{site}/{project_path}",
        "commit": "{site}/{project_path}/-/commit/{sha}",
        "ref": "{site}/{project_path}/-/tree/{short_ref}",
        "workflow": "https://{workflow_project_url}/-/blob/{ci_config_sha}/{workflow_file}",
        "run": "{site}/{project_path}/-/pipelines/{pipeline_id}",
        "actor": "{site}/{user_login}",
    },
    parts={
        "ref_path": _SHORT_REF,
        "ci_config_ref_uri": r"(?P<workflow_project_url>[^@]+?)//(?P<workflow_file>[^@]+)@.+",
    },
    sites=((r"(https://[a-z0-9.:-]+(?:/[\w.-]+)*)", r"\1"),),
)

AZURE = Vendor(
    kind="azure",
    label="Azure Pipelines",
    issuer="https://vstoken.dev.azure.com/{organization_id}",
    fields=(
        Field("organization_id", "Organization id", "org_id", How.ID, is_required=True),
        Field("project_id", "Project id", "prj_id", How.ID, is_required=True),
        Field("pipeline_id", "Pipeline id", "def_id", How.ID, example="17", is_required=True, identifies=True),
        Field("repository", "Repository URL", "rpo_uri", How.CASELESS, identifies=True),
        Field("repository_id", "Repository id", "rpo_id", How.ID, pins=True, identifies=True),
        Field("ref", "Ref", "rpo_ref", How.REF, example="refs/heads/main"),
    ),
    refusals=(Refusal("rpo_ref", _UNREVIEWED, beginnings=("refs/pull/", "refs/pr/")),),
    present=("rpo_ref",),
    protects=("ref",),
    audience="api://AzureADTokenExchange",
    max_age=timedelta(minutes=5),
    weaker="Azure Pipelines writes the same audience into each token, so a token for another service is accepted here "
    "during its first 5 minutes.",
    origin={
        "repository": "rpo_uri",
        "commit": "rpo_ver",
        "ref": "rpo_ref",
        "workflow": "def_id",
        "run": "run_id",
    },
    # Its repository may be elsewhere, such as on GitHub; its own pages are where `rpo_uri` names the organization.
    links={
        "repository": "https://{repository_url}",
        "commit": "https://{repository_url}/commit/{rpo_ver}",
        "workflow": "https://dev.azure.com/{organization}/{prj_id}/_build?definitionId={def_id}",
        "run": "https://dev.azure.com/{organization}/{prj_id}/_build/results?buildId={run_id}",
    },
    parts={
        "rpo_uri": r"https://(?:[^/@?#]*@)?"
        r"(?P<repository_url>(?:dev\.azure\.com/(?P<organization>[^/@?#]+)|[a-z0-9.-]+)/[^@?#]+?)(?:\.git)?/?",
    },
)

BITBUCKET = Vendor(
    kind="bitbucket",
    label="Bitbucket Pipelines",
    issuer="https://api.bitbucket.org/2.0/workspaces/{workspace}/pipelines-config/identity/oidc",
    fields=(
        Field("workspace", "Workspace", example="acme", is_required=True),
        Field("workspace_id", "Workspace UUID", "workspaceUuid", How.ID, pins=True),
        Field("repository_id", "Repository UUID", "repositoryUuid", How.ID, is_required=True, identifies=True),
        Field("environment", "Deployment environment UUID", "deploymentEnvironmentUuid", How.ID),
        Field("branch", "Branch", "branchName", How.REF, example="main"),
    ),
    refusals=(Refusal("pullRequestId", _UNREVIEWED, any_value=True),),
    one_of=("environment", "branch"),
    has_jti=False,
    origin={"repository": "repositoryUuid", "ref": "branchName", "run": "pipelineUuid"},
    links={
        "repository": "{site}/{repositoryUuid}",
        "ref": "{site}/{repositoryUuid}/branch/{branchName}",
        "run": "{site}/{repositoryUuid}/pipelines/results/{pipelineUuid}",
    },
    sites=((r"https://api\.bitbucket\.org/2\.0/workspaces/([\w-]+)/.+", r"https://bitbucket.org/\1"),),
)

_CIRCLECI = "oidc.circleci.com/"
CIRCLECI = Vendor(
    kind="circleci",
    label="CircleCI",
    issuer="https://oidc.circleci.com/org/{organization_id}",
    fields=(
        Field("organization_id", "Organization id", is_required=True),
        Field("project_id", "Project id", f"{_CIRCLECI}project-id", How.ID, is_required=True, identifies=True),
        Field("pipeline_id", "Pipeline definition id", f"{_CIRCLECI}pipeline-definition-id", How.ID, is_required=True),
        Field("repository", "Repository", f"{_CIRCLECI}vcs-origin", How.CASELESS, example="github.com/acme/vpc"),
        Field("context", "Context id", f"{_CIRCLECI}context-ids", How.MEMBER),
        Field("ref", "Ref", f"{_CIRCLECI}vcs-ref", How.REF, example="refs/tags/v*"),
    ),
    refusals=(
        Refusal(
            f"{_CIRCLECI}vcs-ref",
            _UNREVIEWED,
            beginnings=("refs/pull/", "refs/heads/pull/", "refs/merge-requests/"),
        ),
        Refusal(f"{_CIRCLECI}ssh-rerun", "someone may be in the job by SSH", any_value=True),
    ),
    present=(f"{_CIRCLECI}vcs-ref",),
    protects=("context", "ref"),
    has_jti=False,
    origin={
        "repository": f"{_CIRCLECI}vcs-origin",
        "ref": f"{_CIRCLECI}vcs-ref",
        "workflow": f"{_CIRCLECI}pipeline-definition-id",
        "run": f"{_CIRCLECI}workflow-id",
    },
    # Its claims name the host of the repository.
    links={
        "repository": "https://{repository_url}",
        "run": "{site}/pipelines/workflows/{" + _CIRCLECI + "workflow-id}",
    },
    parts={f"{_CIRCLECI}vcs-origin": r"(?P<repository_url>[a-z0-9.-]+/[^@?#]+)"},
    sites=((r"https://oidc\.circleci\.com/org/.+", "https://app.circleci.com"),),
)

BUILDKITE = Vendor(
    kind="buildkite",
    label="Buildkite",
    issuer="https://agent.buildkite.com",
    fields=(
        Field("organization", "Organization", "organization_slug", How.TEXT, example="acme", is_required=True),
        Field("pipeline", "Pipeline", "pipeline_slug", How.TEXT, example="vpc", is_required=True, identifies=True),
        Field(
            "organization_id",
            "Organization id",
            "organization_id",
            How.ID,
            help="The step requests this claim with --claim organization_id.",
            pins=True,
        ),
        Field(
            "pipeline_id",
            "Pipeline id",
            "pipeline_id",
            How.ID,
            help="The step requests this claim with --claim pipeline_id.",
            pins=True,
            identifies=True,
        ),
        Field("step", "Step key", "step_key", How.TEXT, example="publish"),
        Field("branch", "Branch", "build_branch", How.REF, example="main"),
        Field("tag", "Tag", "build_tag", How.REF, example="v*"),
    ),
    refusals=(
        Refusal("build_branch", "the branch of a fork's pull request", contents=(":",)),
        Refusal(
            "build_branch", "the ref of a pull request", beginnings=("refs/pull/", "pull/", "refs/merge-requests/")
        ),
    ),
    present=("build_branch",),
    one_of=("branch", "tag"),
    has_jti=False,
    origin={
        "commit": "build_commit",
        "ref": "build_branch",
        "workflow": "pipeline_slug",
        "run": "build_number",
    },
    links={
        "workflow": "{site}/{organization_slug}/{pipeline_slug}",
        "run": "{site}/{organization_slug}/{pipeline_slug}/builds/{build_number}",
    },
    sites=((r"https://agent\.buildkite\.com", "https://buildkite.com"),),
)

# Whatever issuer staff listed; its rule has exact claims in place of fields. Issuers often follow GitHub or GitLab, so
# what these refuse is refused here as well.
OIDC = Vendor(
    kind="oidc",
    label="Another OpenID issuer",
    fields=(),
    refusals=tuple(dict.fromkeys((*GITHUB.refusals, *GITLAB.refusals, *AZURE.refusals, *BITBUCKET.refusals))),
    origin={
        "repository": "repository",
        "commit": "sha",
        "ref": "ref",
        "workflow": "workflow_ref",
        "run": "run_id",
        "actor": "actor",
    },
    actor=Actor(
        ids=("actor_id", "user_id", "sub"),
        addresses=("user_email", "actor_email", "email"),
        identities="user_identities",
    ),
)

VENDORS = {vendor.kind: vendor for vendor in (GITHUB, GITLAB, AZURE, BITBUCKET, CIRCLECI, BUILDKITE, OIDC)}
