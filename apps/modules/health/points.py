"""The points of a module's health, in the order of the page. docs/module-health.md has the same table: a test compares.

A point is the sentence of its rule, and how to gain it.
"""

from typing import NamedTuple


class Rule(NamedTuple):
    sentence: str
    hint: str


RULES = {
    "readme": Rule(
        "The root of the archive has a README.", "Add README.md: what the module makes, and how to call it."
    ),
    "example": Rule("There is an example.", "Add a configuration that calls the module in a folder below examples/."),
    "licence": Rule(
        "The root of the archive has a licence.", "Add LICENSE, even if it says that all rights are yours."
    ),
    "changelog": Rule("The root of the archive has a changelog.", "Add CHANGELOG.md with a heading for each version."),
    "inputs_described": Rule("Every input has a description.", "Add a description to each variable."),
    "inputs_typed": Rule("Every input has a type.", "Add a type to each variable; any says that everything is taken."),
    "outputs_described": Rule("Every output has a description.", "Add a description to each output."),
    "client_pinned": Rule(
        "It says which versions of OpenTofu or Terraform it needs.", "Add required_version to a terraform block."
    ),
    "providers_pinned": Rule(
        "Every provider that it uses has a version constraint.", "Add a version to each entry of required_providers."
    ),
    "calls_pinned": Rule(
        "Every module that it calls from elsewhere names a version.",
        "Add a version to each call from a registry, ?ref= to a source in Git, ?tag= to one over OCI.",
    ),
}
# Increase it with the rules: what an older one stored is not used any more.
VERSION = 1
