"""Suggested rules: few, which explain most tags, and never two that make one module of a tag."""

import pytest

from apps.contrib.git import module_folders, suggesting
from apps.contrib.git.remote import patterns
from tests.rows import for_each_row

AWS = 'terraform {\n  required_providers {\n    aws = {\n      source = "hashicorp/aws"\n    }\n  }\n}\n'
GOOGLE = AWS.replace("aws", "google")


def suggested(files, tags, repository="infrastructure"):
    """Rules as (tag, folder, module)."""
    folders = module_folders.found(files, repository, lambda path: files[path].encode())
    rules = suggesting.suggested(folders, tags, repository)
    for tag in tags:  # what holds for all of them
        made = [
            patterns.filled(rule.module, found.name)
            for rule in rules
            if (found := patterns.match(rule.tag, tag)) is not None
        ]
        assert len(made) == len(set(made)), (tag, made)
    return [(rule.tag, rule.folder, rule.module) for rule in rules]


def modules(*folders, text=AWS):
    return {f"{folder}/main.tf".lstrip("/"): text for folder in folders}


@for_each_row(
    ("repository", "text", "module"),
    [
        ("terraform-aws-vpc", "", "vpc/aws"),
        ("terraform-azurerm-avm-res-keyvault-vault", "", "avm-res-keyvault-vault/azurerm"),
        ("tf-google-network", "", "network/google"),
        ("vpc", AWS, "vpc/aws"),
        ("aws-vpc", AWS, "vpc/aws"),
        ("terraform-vpc", AWS, "vpc/aws"),
        ("vpc-module", AWS, "vpc/aws"),
        ("vpc", 'resource "aws_vpc" "this" {}', "vpc/aws"),
        ("vpc", "", "vpc/generic"),
        ("vpc", AWS.replace("aws = {", "random = {}\n    aws = {"), "vpc/aws"),
        ("my.vpc--x", AWS, "my-vpc-x/aws"),
        ("releases", AWS, "releases-module/aws"),
    ],
)  # fmt: skip
def test_the_module_is_called_after_the_repository_and_its_providers(repository, text, module):
    assert suggested({"main.tf": text}, ["v1.0.0"], repository) == [("v{version}", "", module)]


@for_each_row(
    ("tags", "expected"),
    [
        ([], ["v{version}"]),
        (["1.0.0", "1.1.0"], ["{version}"]),
        (["v1.0.0", "latest", "v1"], ["v{version}"]),
        (["0.1.0", "0.2.0", "v1.0.0"], ["{version}", "v{version}"]),
        (["v1.0.0", "v1.1.0", "1.0.0"], ["v{version}"]),  # the other form has no version besides
        (["release-1.0.0", "release-1.1.0", "release-1.2.0"], ["release-{version}"]),
        (["vpc-v1.0.0"], ["vpc-v{version}"]),
        (["terraform-aws-vpc-1.0.0"], ["terraform-aws-vpc-{version}"]),
        (["v1.0.0-rc.1", "v1.0.0+build"], ["v{version}"]),
    ],
)
def test_the_form_of_the_tags_is_found(tags, expected):
    rules = suggested(modules(""), tags, "terraform-aws-vpc")

    assert [tag for tag, _, _ in rules] == expected
    assert {(folder, module) for _, folder, module in rules} == {("", "vpc/aws")}


@for_each_row(
    ("folder", "tag", "expected"),
    [
        ("modules/{}", "{}/v1.0.0", ("{name}/v{version}", "modules/{name}", "{name}/aws")),
        ("modules/{}", "modules/{}/v1.0.0", ("modules/{name}/v{version}", "modules/{name}", "{name}/aws")),
        ("{}", "{}-1.0.0", ("{name}-{version}", "{name}", "{name}/aws")),
        ("{}", "{}@v1.0.0", ("{name}@v{version}", "{name}", "{name}/aws")),
        ("terraform-aws-{}", "terraform-aws-{}/1.0.0",
         ("terraform-aws-{name}/{version}", "terraform-aws-{name}", "{name}/aws")),
        ("terraform-aws-{}", "{}/v1.0.0", ("{name}/v{version}", "terraform-aws-{name}", "{name}/aws")),
        ("aws/{}", "aws-{}-v1.0.0", ("aws-{name}-v{version}", "aws/{name}", "{name}/aws")),
        ("a/modules/{}", "release/a/{}/v1.0.0", ("release/a/{name}/v{version}", "a/modules/{name}", "{name}/aws")),
    ],
)  # fmt: skip
def test_folders_that_are_alike_get_one_rule(folder, tag, expected):
    names = ["vpc", "s3-bucket", "iam_role"]

    assert suggested(modules(*map(folder.format, names)), [tag.format(name) for name in names]) == [expected]


BELOW = modules("", "modules/endpoints", "examples/simple", "tests/setup", ".github/x", "modules/endpoints/deep")


@for_each_row(
    ("files", "tags", "expected"),
    [
        pytest.param(
            modules("aws-one", "aws-two") | modules("label", text="# names things\n"),
            ["aws-one/v1.0.0", "aws-two/v1.0.0", "label/v1.0.0"],
            [("{name}/v{version}", "{name}", "{name}/aws")],
            id="a module that requires no provider joins the others",
        ),
        pytest.param(
            modules("modules/vpc", "modules/iam"),
            ["v1.0.0", "v1.1.0"],
            [("v{version}", "modules/iam", "iam/aws"), ("v{version}", "modules/vpc", "vpc/aws")],
            id="tags of all modules at once are versions of each",
        ),
        pytest.param(BELOW, ["v1.0.0"], [("v{version}", "", "vpc/aws")], id="a module below a module is not published"),
        pytest.param(
            modules("", "modules/endpoints"),
            ["v1.0.0", "endpoints/v1.0.0"],
            [("endpoints/v{version}", "modules/endpoints", "endpoints/aws"), ("v{version}", "", "vpc/aws")],
            id="unless it has tags",
        ),
        pytest.param(
            modules("src"),
            ["v1.0.0"],
            [("v{version}", "src", "vpc/aws")],
            id="one module is called after the repository",
        ),
        pytest.param(
            modules("modules/vpc", "modules/iam"),
            ["latest"],
            [("{name}/v{version}", "modules/{name}", "{name}/aws")],
            id="modules without tags get what is usual",
        ),
        pytest.param({"README.md": "", "main.py": "", ".tf": ""}, ["v1.0.0"], [], id="nothing without a module"),
        pytest.param(
            {"main.tf": "required_providers {" * 50_000 + '"' * 1000},
            ["v1.0.0"],
            [("v{version}", "", "vpc/generic")],
            id="a hostile file is read as far as it goes",
        ),
    ],
)
def test_rules_fit_the_folders_and_the_tags(files, tags, expected):
    assert suggested(files, tags, "vpc") == expected


def test_a_module_of_another_provider_keeps_the_rules_apart():
    files = modules("aws-one", "aws-two") | modules("network", text=GOOGLE)
    tags = ["aws-one/v1.0.0", "aws-two/v1.0.0", "network/v1.0.0"]

    rules = suggested(files, tags)

    assert ("network/v{version}", "network", "network/google") in rules
    assert len(rules) == 3


@for_each_row(("own", "rules"), [(19, 20), (20, 1)])
def test_one_module_of_another_provider_joins_twenty(own, rules):
    names = [f"m{number}" for number in range(own)]
    files = modules(*names) | modules("network", text=GOOGLE)

    assert len(suggested(files, [f"{name}/v1.0.0" for name in [*names, "network"]])) == rules


def test_folders_of_one_name_are_told_apart():
    files = modules("network/core", "storage/core")
    folders = module_folders.found(files, "infrastructure", lambda path: files[path].encode())

    assert [folder.module for folder in folders] == ["network-core/aws", "storage-core/aws"]


@for_each_row("tag", ["{version}", "a{b}/v1.0.0", "--upload-pack=x-1.0.0", "v1.0.0\n", "1.0.0 ", "x y/v1.0.0", ""])
def test_hostile_tags_make_no_rule_that_cannot_be_saved(tag):
    for pattern, _, _ in suggested(modules("modules/a", "modules/b"), [tag, tag + "1"]):
        assert patterns.check(pattern)
