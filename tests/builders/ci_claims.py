"""The claims of each vendor's id tokens, as their documentation shows them, and a rule that they keep.

`pull_request` are claims of a run for a pull or merge request, `fork` of one that runs for a fork, `recreated` of a
repository that has the name and not the id. `pinned` are the fields that the first exchange adds.
"""

from dataclasses import dataclass, field
from typing import Any

COMMIT = "0a4d55a8d778e5022fab701977c5d840bbc486d0"
PROJECT, OTHER = "4f1b2c3d-0000-4000-8000-000000000001", "4f1b2c3d-0000-4000-8000-00000000000f"
ORG = "9e1d0c2b-0000-4000-8000-000000000002"
STEP = "7c0e9a11-0000-4000-8000-000000000003"
GITHUB_ISSUER = "https://token.actions.githubusercontent.com"
CIRCLECI = "oidc.circleci.com/"


@dataclass(frozen=True)
class Shape:
    kind: str
    rule: dict[str, Any]
    claims: dict[str, Any]
    pull_requests: list[dict[str, Any]]
    recreated: dict[str, Any]
    pinned: dict[str, str] = field(default_factory=dict)
    wrong: list[dict[str, Any]] = field(default_factory=list)


GITHUB = Shape(
    "github",
    {"repository": "acme/vpc", "repository_id": 1, "workflow": "release.yml", "environment": "production"},
    {
        "actor": "alice",
        "actor_id": "12",
        "base_ref": "",
        "environment": "production",
        "event_name": "push",
        "head_ref": "",
        "job_workflow_ref": "acme/vpc/.github/workflows/release.yml@refs/tags/v1.2.0",
        "job_workflow_sha": COMMIT,
        "ref": "refs/tags/v1.2.0",
        "ref_protected": "true",
        "ref_type": "tag",
        "repository": "acme/vpc",
        "repository_id": "1",
        "repository_owner": "acme",
        "repository_owner_id": "65",
        "repository_visibility": "private",
        "run_attempt": "1",
        "run_id": "971",
        "run_number": "10",
        "runner_environment": "github-hosted",
        "sha": COMMIT,
        "sub": "repo:acme-65/vpc-1:environment:production",
        "workflow": "Release",
        "workflow_ref": "acme/vpc/.github/workflows/release.yml@refs/tags/v1.2.0",
        "workflow_sha": COMMIT,
    },
    pull_requests=[
        {"event_name": "pull_request"},
        {"event_name": "pull_request_target"},
        {"event_name": "workflow_run"},
        {"event_name": "merge_group"},
        {"ref": "refs/pull/7/merge"},
        {"head_ref": "fix"},
        {"event_name": None},
        {"event_name": ["push"]},
    ],
    recreated={"repository_id": "2"},
    pinned={"owner_id": "65"},
    wrong=[
        {"workflow_ref": "acme/vpc/.github/workflows/other.yml@refs/heads/main"},
        {"workflow_ref": "acme/vpc/.github/workflows/release.yml"},
        {"job_workflow_ref": "acme/shared/.github/workflows/publish.yml@refs/heads/main"},
        {"environment": "staging"},
        {"environment": None},
        {"repository": "acme/vpc-renamed"},
        {"repository_id": True},
        {"repository_id": ["1"]},
    ],
)
GITLAB = Shape(
    "gitlab",
    {"repository": "acme/vpc", "repository_id": "278964", "workflow": ".gitlab-ci.yml", "protected_ref": True},
    {
        "ci_config_ref_uri": "{host}/acme/vpc//.gitlab-ci.yml@refs/heads/main",
        "ci_config_sha": COMMIT,
        "job_id": "302",
        "job_namespace_id": "9970",
        "job_project_id": "278964",
        "namespace_id": "9970",
        "namespace_path": "acme",
        "pipeline_id": "574",
        "pipeline_source": "push",
        "project_id": "278964",
        "project_path": "acme/vpc",
        "project_visibility": "private",
        "ref": "main",
        "ref_path": "refs/heads/main",
        "ref_protected": "true",
        "ref_type": "branch",
        "runner_environment": "gitlab-hosted",
        "sha": COMMIT,
        "sub": "project_path:acme/vpc:ref_type:branch:ref:main",
        "user_login": "alice",
    },
    pull_requests=[
        {"pipeline_source": "merge_request_event"},
        {"pipeline_source": "external_pull_request_event"},
        {"pipeline_source": "parent_pipeline", "ref_path": "refs/merge-requests/1/head"},
        {"pipeline_source": None},
        {"job_project_id": "5"},
    ],
    recreated={"project_id": "5", "job_project_id": "5"},
    pinned={"owner_id": "9970"},
    wrong=[
        {"ref_protected": "false"},
        {"ref_protected": None},
        {"ci_config_ref_uri": "{host}/acme/shared//publish.yml@refs/heads/main"},
        {"ci_config_ref_uri": 7},
    ],
)
AZURE = Shape(
    "azure",
    {"organization_id": ORG, "project_id": PROJECT, "pipeline_id": 17, "ref": "refs/heads/main"},
    {
        "aud": "api://AzureADTokenExchange",
        "def_id": "17",
        "org_id": ORG,
        "prj_id": PROJECT,
        "rpo_id": STEP,
        "rpo_ref": "refs/heads/main",
        "rpo_uri": "https://dev.azure.com/acme/infra/_git/vpc",
        "rpo_ver": COMMIT,
        "run_id": "88",
        "sub": "p://acme/infra/vpc",
    },
    pull_requests=[{"rpo_ref": "refs/pull/3/merge"}, {"rpo_ref": None}],
    recreated={"rpo_id": OTHER},
    pinned={"repository_id": STEP},
    wrong=[{"def_id": "18"}, {"prj_id": OTHER}, {"org_id": OTHER}, {"rpo_ref": "refs/heads/next"}],
)
BITBUCKET = Shape(
    "bitbucket",
    {"workspace": "acme", "repository_id": f"{{{PROJECT}}}", "branch": "main"},
    {
        "branchName": "main",
        "jti": None,
        "pipelineUuid": f"{{{STEP}}}",
        "repositoryUuid": f"{{{PROJECT}}}",
        "stepUuid": f"{{{STEP}}}",
        "sub": f"{{{PROJECT}}}:{{{STEP}}}",
        "workspaceUuid": f"{{{ORG}}}",
    },
    pull_requests=[{"pullRequestId": "3"}, {"pullRequestId": 3}],
    recreated={"repositoryUuid": f"{{{OTHER}}}"},
    pinned={"workspace_id": ORG},
    wrong=[{"branchName": "next"}, {"branchName": None}],
)
CIRCLE = Shape(
    "circleci",
    {"organization_id": ORG, "project_id": PROJECT, "pipeline_id": STEP, "context": ORG, "ref": "refs/tags/v*"},
    {
        "jti": None,
        f"{CIRCLECI}context-ids": [OTHER, ORG],
        f"{CIRCLECI}job-id": STEP,
        f"{CIRCLECI}pipeline-definition-id": STEP,
        f"{CIRCLECI}project-id": PROJECT,
        f"{CIRCLECI}ssh-rerun": False,
        f"{CIRCLECI}vcs-origin": "github.com/acme/vpc",
        f"{CIRCLECI}vcs-ref": "refs/tags/v1.2.0",
        f"{CIRCLECI}workflow-id": STEP,
        "sub": f"org/{ORG}/project/{PROJECT}/user/{STEP}",
    },
    pull_requests=[
        {f"{CIRCLECI}vcs-ref": "refs/heads/pull/7"},
        {f"{CIRCLECI}vcs-ref": "refs/pull/7/head"},
        {f"{CIRCLECI}vcs-ref": None},
        {f"{CIRCLECI}ssh-rerun": True},
    ],
    recreated={f"{CIRCLECI}project-id": OTHER},
    wrong=[
        {f"{CIRCLECI}context-ids": [OTHER]},
        {f"{CIRCLECI}context-ids": ORG},
        {f"{CIRCLECI}pipeline-definition-id": OTHER},
        {f"{CIRCLECI}vcs-ref": "refs/heads/main"},
    ],
)
BUILDKITE = Shape(
    "buildkite",
    {"organization": "acme", "pipeline": "vpc", "pipeline_id": PROJECT, "step": "publish", "branch": "main"},
    {
        "agent_id": OTHER,
        "build_branch": "main",
        "build_commit": COMMIT,
        "build_number": 55,
        "build_tag": "",
        "job_id": STEP,
        "jti": None,
        "organization_id": ORG,
        "organization_slug": "acme",
        "pipeline_id": PROJECT,
        "pipeline_slug": "vpc",
        "step_key": "publish",
        "sub": "organization:acme:pipeline:vpc:ref:refs/heads/main:commit:x:step:publish",
    },
    pull_requests=[{"build_branch": "stranger:main"}, {"build_branch": "pull/3/head"}, {"build_branch": None}],
    recreated={"pipeline_id": OTHER},
    pinned={"organization_id": ORG},
    wrong=[{"step_key": "test"}, {"organization_slug": "other"}, {"organization_id": None}],
)
OIDC = Shape(
    "oidc",
    {"claims": {"repository_id": 7, "workflow": "release.yaml", "is_main": True}},
    {"repository_id": 7, "workflow": "release.yaml", "is_main": True, "repository": "acme/vpc", "run_id": "3"},
    pull_requests=[
        {"event_name": "pull_request"},
        {"pipeline_source": "merge_request_event"},
        {"ref": "refs/pull/3/head"},
        {"event_name": ["pull_request"]},
    ],
    recreated={"repository_id": 8},
    wrong=[{"repository_id": "7"}, {"is_main": 1}, {"workflow": None}, {"workflow": ["release.yaml"]}],
)
SHAPES = {shape.kind: shape for shape in (GITHUB, GITLAB, AZURE, BITBUCKET, CIRCLE, BUILDKITE, OIDC)}
