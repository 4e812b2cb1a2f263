"""The language as data: every block that clients know in a module file, and the rule of each argument.

Read in the clients' own sources at OpenTofu 1.12.6 and 1.13-dev, and Terraform 1.11.4, 1.14.9, 1.15.9 and 1.16.0-rc2;
`source` of a block names the schema and its file below `internal/configs`. The words of `rules` say what
an argument's value must be; an empty word asks nothing, as the value is evaluated later.
"""

from collections.abc import Mapping

from apps.modules.inspection.language.clients import EVERY, NONE, ONLY_OPENTOFU, ONLY_TERRAFORM, since
from apps.modules.inspection.language.settings import SETTINGS
from apps.modules.inspection.language.table import ESCAPED, FLAG, RESERVED, TEXT, Argument, Block, Nested

_TERRAFORM_14 = since(None, 14)
_NEEDED = Argument(required=EVERY)
_COUNT = {"count": Argument(), "for_each": Argument()}
_OF_RESOURCE = {
    **_COUNT,
    "provider": Argument("provider"),
    "depends_on": Argument("references", overriding="no_references"),
}
_CONDITIONS = {"precondition": Nested("own_condition"), "postcondition": Nested("own_condition")}
_ENABLED = Argument(clients=ONLY_OPENTOFU)
_REPEATED = (("count", "for_each", "lifecycle.enabled"),)
_CONST = Argument("flag", clients=since(12, 15), constant_for=EVERY)
_DEPRECATED = Argument("words", clients=since(12, 15), constant_for=EVERY)

TOP_LEVEL: Mapping[str, Nested] = {
    kind: Nested(kind)
    for kind in (
        *("terraform", "provider", "variable", "locals", "output", "module", "resource", "data", "ephemeral"),
        *("moved", "removed", "import", "check"),
    )
} | {
    "language": Nested("language", clients=ONLY_OPENTOFU),
    "action": Nested("action", clients=_TERRAFORM_14),
    "required_providers": RESERVED,  # both: "must be nested inside a terraform block"
}

QUERIES = {"list": Nested("list", clients=_TERRAFORM_14)}  # of .tfquery files
MIGRATIONS = {"from": Nested("from", clients=since(None, 16))}  # of .tfmigrate files

BLOCKS: Mapping[str, Block] = {
    **SETTINGS,
    "free": Block("arbitrary configuration", is_open=True, is_undecoded=True),
    "nested": Block("a block of something else", is_open=True, any_labels=True, is_undecoded=True),
    "reserved": Block("reserved for a later version", is_open=True, is_undecoded=True),
    "reserved_provider": Block(
        "module_call.go moduleBlockSchema", ("any",), is_open=True, any_labels=True, is_undecoded=True
    ),
    "variable": Block(
        "named_values.go variableBlockSchema; const: OpenTofu 1.12, Terraform 1.15; deprecated: Terraform 1.15",
        ("variable",),
        {
            "description": TEXT,
            "type": Argument("type"),
            "default": Argument("default", constant_for=EVERY),
            "sensitive": FLAG,
            "nullable": FLAG,
            "ephemeral": FLAG,
            "deprecated": _DEPRECATED,
            "const": _CONST,
        },
        {"validation": Nested("validation")},
        checks=("constant_of_terraform",),
    ),
    "validation": Block(
        "checks.go checkRuleBlockSchema; named_values.go decodeVariableValidationBlock",
        arguments={"condition": Argument("condition_of_variable", required=EVERY), "error_message": _NEEDED},
        primary=EVERY,
    ),
    "condition": Block(
        "checks.go checkRuleBlockSchema",
        arguments={"condition": Argument("condition", required=EVERY), "error_message": _NEEDED},
        primary=EVERY,
    ),
    "own_condition": Block(
        "checks.go checkRuleBlockSchema, validateSelfReferences",
        arguments={
            "condition": Argument("own_condition", required=EVERY),
            "error_message": Argument("not_itself", required=EVERY),
        },
        primary=EVERY,
    ),
    "output": Block(
        "named_values.go outputBlockSchema; type, deprecated: Terraform 1.15",
        ("name",),
        {
            "description": TEXT,
            "value": _NEEDED,
            "depends_on": Argument("references", overriding="no_references"),
            "sensitive": FLAG,
            "ephemeral": FLAG,
            "deprecated": _DEPRECATED,
            "type": Argument("output_type", clients=since(None, 15)),
        },
        {"precondition": Nested("condition"), "postcondition": RESERVED},
    ),
    "locals": Block("named_values.go decodeLocalsBlock", only_arguments="local"),
    "module": Block(
        "module_call.go moduleBlockSchema; source, version: variables since OpenTofu 1.8 and Terraform 1.15",
        ("name",),
        {
            "source": Argument("source", required=EVERY, constant_for=since(None, 0) & ~since(None, 15)),
            "version": Argument("version", constant_for=since(None, 0) & ~since(None, 15)),
            "providers": Argument("providers"),
            "depends_on": Argument("references", overriding="no_references"),
            **_COUNT,
        },
        {
            "lifecycle": Nested("module_lifecycle", most=1, clients=ONLY_OPENTOFU),
            "_": ESCAPED,
            "locals": RESERVED,
            "provider": Nested("reserved_provider", clients=NONE),
        },
        is_open=True,
        conflicts=_REPEATED,
    ),
    "module_lifecycle": Block("OpenTofu module_call.go moduleLifecycleBlockSchema", arguments={"enabled": _ENABLED}),
    "resource": Block(
        "resource.go ResourceBlockSchema, commonResourceAttributes",
        ("name", "name"),
        _OF_RESOURCE,
        {
            "lifecycle": Nested("lifecycle", most=1),
            "connection": Nested("free", most=1),
            "provisioner": Nested("provisioner"),
            "_": ESCAPED,
            "locals": RESERVED,
        },
        is_open=True,
        conflicts=_REPEATED,
        checks=("connected", "implied_provider"),
    ),
    "lifecycle": Block(
        "resource.go resourceLifecycleBlockSchema; prevent_destroy: any expression since OpenTofu 1.12; destroy: "
        "OpenTofu 1.12, Terraform 1.16; action_trigger: Terraform 1.14",
        arguments={
            "create_before_destroy": FLAG,
            "prevent_destroy": Argument("flag_of_terraform", constant_for=ONLY_TERRAFORM),
            "destroy": Argument("flag_of_terraform", clients=since(12, 16), constant_for=ONLY_TERRAFORM),
            "enabled": _ENABLED,
            "ignore_changes": Argument("ignored"),
            "replace_triggered_by": Argument("replacing"),
        },
        blocks=_CONDITIONS | {"action_trigger": Nested("action_trigger", clients=_TERRAFORM_14)},
    ),
    "action_trigger": Block(
        "Terraform action.go actionTriggerSchema",
        arguments={
            "events": Argument("events", required=EVERY),
            "actions": Argument("actions", required=EVERY),
            "condition": Argument(),
            "on_failure": Argument("trigger_failure", clients=since(None, 16)),
        },
        clients=_TERRAFORM_14,
    ),
    "provisioner": Block(
        "provisioner.go provisionerBlockSchema",
        ("provisioner",),
        {"when": Argument("when"), "on_failure": Argument("on_failure")},
        {"connection": Nested("free", most=1), "_": ESCAPED, "lifecycle": RESERVED},
        is_open=True,
        checks=("destroying",),
    ),
    "data": Block(
        "resource.go dataBlockSchema",
        ("name", "name"),
        _OF_RESOURCE,
        {"lifecycle": Nested("read_lifecycle", most=1), "_": ESCAPED, "locals": RESERVED},
        is_open=True,
        conflicts=_REPEATED,
        checks=("implied_provider",),
    ),
    "read_lifecycle": Block(
        "resource.go decodeDataBlock, decodeEphemeralBlock", arguments={"enabled": _ENABLED}, blocks=_CONDITIONS
    ),
    "ephemeral": Block(
        "resource.go ephemeralBlockSchema; OpenTofu: decodeEphemeralBlock",
        ("name", "name"),
        _OF_RESOURCE,
        {
            "lifecycle": Nested("read_lifecycle", most=1),
            "_": ESCAPED,
            "locals": RESERVED,
            "connection": Nested("nested", clients=ONLY_TERRAFORM),
            "provisioner": Nested("nested", clients=ONLY_TERRAFORM),
        },
        is_open=True,
        conflicts=_REPEATED,
        checks=("implied_provider",),
    ),
    "action": Block(
        "Terraform action.go actionBlockSchema",
        ("name", "name"),
        {**_COUNT, "provider": Argument("provider")},
        {"config": Nested("free", most=1)},
        conflicts=(("count", "for_each"),),
        unique="action",
    ),
    "provider": Block(
        "provider.go providerBlockSchema; for_each: OpenTofu 1.9",
        ("provider",),
        {
            "alias": Argument("alias", constant_for=EVERY),
            "version": Argument("constraint", constant_for=EVERY),
            "for_each": Argument("instances", clients=ONLY_OPENTOFU),
            "count": Argument(clients=NONE),
            "depends_on": Argument(clients=NONE),
            "source": Argument(clients=NONE),
        },
        {"_": ESCAPED, "lifecycle": RESERVED, "locals": RESERVED},
        is_open=True,
        checks=("alias_for_instances",),
    ),
    "moved": Block(
        "moved.go movedBlockSchema",
        arguments={"from": Argument("moved", required=EVERY), "to": Argument("moved", required=EVERY)},
        primary=EVERY,
    ),
    "removed": Block(
        "removed.go removedBlockSchema",
        arguments={"from": Argument("removed", required=EVERY)},
        blocks={
            "lifecycle": Nested("removed_lifecycle", most=1, most_for=ONLY_OPENTOFU),
            "connection": Nested("free", most=1, clients=ONLY_TERRAFORM),
            "provisioner": Nested("removed_provisioner"),
        },
        primary=ONLY_OPENTOFU,
        checks=("no_module",),
    ),
    "removed_provisioner": Block(
        "removed.go decodeRemovedBlock; provisioner.go provisionerBlockSchema",
        ("provisioner",),
        {"when": Argument("destroy", required=EVERY), "on_failure": Argument("on_failure")},
        {"connection": Nested("free", most=1), "_": ESCAPED, "lifecycle": RESERVED},
        is_open=True,
        checks=("destroying",),
    ),
    "removed_lifecycle": Block("removed.go removedLifecycleBlockSchema", arguments={"destroy": FLAG}),
    "import": Block(
        "import.go importBlockSchema; identity: OpenTofu 1.12, Terraform 1.12",
        arguments={
            "to": Argument("imported", required=EVERY),
            "id": Argument(required=since(None, 11) & ~since(None, 12)),
            "identity": Argument(clients=since(12, 12)),
            "for_each": Argument(),
            "provider": Argument("provider"),
        },
        conflicts=(("id", "identity"),),
        one_of=("id", "identity"),
        unique="import",
        primary=EVERY,
        checks=("no_provider_in_module",),
    ),
    "check": Block(
        "checks.go checkBlockSchema",
        ("name",),
        blocks={"data": Nested("checked_data", most=1), "assert": Nested("condition", least=EVERY)},
        unique="check",
        primary=EVERY,
    ),
    "checked_data": Block(
        "resource.go decodeDataBlock (nested)",
        ("name", "name"),
        {
            "provider": Argument("provider"),
            "depends_on": Argument("references", overriding="no_references"),
            "count": Argument(clients=NONE),
            "for_each": Argument(clients=NONE),
        },
        {"lifecycle": RESERVED, "_": ESCAPED, "locals": RESERVED},
        is_open=True,
    ),
    # No module is judged by these: clients read the files of commands when these run.
    "list": Block("Terraform query.go", ("name", "name"), is_open=True),
    "from": Block("Terraform migrate.go", blocks={"backend": Nested("migrated"), "state_store": Nested("migrated")}),
    "migrated": Block("Terraform migrate.go", ("any",), is_open=True),
}


def labels_of(kinds: Mapping[str, Nested]) -> dict[str, int]:
    """The number of labels of each of these blocks."""
    return {kind: len(BLOCKS[nested.key].labels) for kind, nested in kinds.items()}
