"""The language as data: every block that clients know in a module file, and the rule of each argument.

Read in the clients' own sources at OpenTofu 1.12.6 and 1.13-dev, and Terraform 1.11.4, 1.14.9, 1.15.9 and 1.16.0-rc2;
`source` of a block names the schema and its file below `internal/configs`. The words of `rules` in `rules.py` say what
an argument's value must be; an empty word asks nothing, as the value is evaluated later.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from apps.modules.inspection.language.clients import (
    EVERY,
    NONE,
    ONLY_OPENTOFU,
    ONLY_TERRAFORM,
    Clients,
    since,
)


@dataclass(frozen=True, slots=True)
class Argument:
    """`constant_for`: clients that evaluate it without variables and functions."""

    rule: str = ""
    required: Clients = NONE
    clients: Clients = EVERY
    constant_for: Clients = NONE


@dataclass(frozen=True, slots=True)
class Nested:
    """A block inside another one. `most`: how many; `clients`: that know it; `key`: its entry in BLOCKS."""

    key: str
    most: int | None = None
    most_for: Clients = EVERY
    least: Clients = NONE  # clients that need one
    clients: Clients = EVERY


@dataclass(frozen=True, slots=True)
class Block:
    """`is_open`: further arguments and blocks belong to a provider, a backend or a called module.

    `conflicts`: of each group at most one. `one_of`: at least one of them, for these clients. `unique`: at most one in
    a module, by its labels. `primary`: clients that refuse it in an override file.
    """

    source: str
    labels: tuple[str, ...] = ()  # the rule of each
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    blocks: Mapping[str, Nested] = field(default_factory=dict)
    is_open: bool = False
    any_labels: bool = False
    only_arguments: str | None = None  # the rule of every argument, where the names are free
    conflicts: tuple[tuple[str, ...], ...] = ()
    one_of: tuple[str, ...] = ()
    unique: str = ""
    primary: Clients = NONE
    clients: Clients = EVERY


_TERRAFORM_14 = since(None, 14)
_TEXT = Argument("text", constant_for=EVERY)
_FLAG = Argument("flag", constant_for=EVERY)
_NEEDED = Argument(required=EVERY)
_COUNT = {"count": Argument(), "for_each": Argument()}
_OF_RESOURCE = {**_COUNT, "provider": Argument("provider"), "depends_on": Argument("references")}
_RESERVED = Nested("reserved", clients=NONE)
_ESCAPED = Nested("free", most=1)
_CONDITIONS = {"precondition": Nested("condition"), "postcondition": Nested("condition")}
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
    "required_providers": _RESERVED,  # both: "must be nested inside a terraform block"
}

BLOCKS: Mapping[str, Block] = {
    "free": Block("arbitrary configuration", is_open=True),
    "nested": Block("a block of something else", is_open=True, any_labels=True),
    "reserved": Block("reserved for a later version", is_open=True),
    "variable": Block(
        "named_values.go variableBlockSchema; const: OpenTofu 1.12, Terraform 1.15; deprecated: Terraform 1.15",
        ("variable",),
        {
            "description": _TEXT,
            "type": Argument("type"),
            "default": Argument("default", constant_for=EVERY),
            "sensitive": _FLAG,
            "nullable": _FLAG,
            "ephemeral": _FLAG,
            "deprecated": _DEPRECATED,
            "const": _CONST,
        },
        {"validation": Nested("validation")},
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
    "output": Block(
        "named_values.go outputBlockSchema; type, deprecated: Terraform 1.15",
        ("name",),
        {
            "description": _TEXT,
            "value": _NEEDED,
            "depends_on": Argument("references"),
            "sensitive": _FLAG,
            "ephemeral": _FLAG,
            "deprecated": _DEPRECATED,
            "type": Argument("output_type", clients=since(None, 15)),
        },
        {"precondition": Nested("condition"), "postcondition": _RESERVED},
    ),
    "locals": Block("named_values.go decodeLocalsBlock", only_arguments="local"),
    "module": Block(
        "module_call.go moduleBlockSchema; source, version: variables since OpenTofu 1.8 and Terraform 1.15",
        ("name",),
        {
            "source": Argument("source", required=EVERY, constant_for=since(None, 0) & ~since(None, 15)),
            "version": Argument("evaluated_constraint", constant_for=since(None, 0) & ~since(None, 15)),
            "providers": Argument("providers"),
            "depends_on": Argument("references"),
            **_COUNT,
        },
        {
            "lifecycle": Nested("module_lifecycle", most=1, clients=ONLY_OPENTOFU),
            "_": _ESCAPED,
            "locals": _RESERVED,
            "provider": _RESERVED,
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
            "_": _ESCAPED,
            "locals": _RESERVED,
        },
        is_open=True,
        conflicts=_REPEATED,
    ),
    "lifecycle": Block(
        "resource.go resourceLifecycleBlockSchema; prevent_destroy: any expression since OpenTofu 1.12; destroy: "
        "OpenTofu 1.12, Terraform 1.16; action_trigger: Terraform 1.14",
        arguments={
            "create_before_destroy": _FLAG,
            "prevent_destroy": Argument("flag_of_terraform", constant_for=ONLY_TERRAFORM),
            "destroy": Argument(clients=since(12, 16), constant_for=ONLY_TERRAFORM),
            "enabled": _ENABLED,
            "ignore_changes": Argument("ignored"),
            "replace_triggered_by": Argument("list"),
        },
        blocks=_CONDITIONS | {"action_trigger": Nested("action_trigger", clients=_TERRAFORM_14)},
    ),
    "action_trigger": Block(
        "Terraform action.go actionTriggerSchema",
        arguments={
            "events": Argument("events", required=EVERY),
            "actions": Argument("some", required=EVERY),
            "condition": Argument(),
            "on_failure": Argument("trigger_failure", clients=since(None, 16)),
        },
        clients=_TERRAFORM_14,
    ),
    "provisioner": Block(
        "provisioner.go provisionerBlockSchema",
        ("provisioner",),
        {"when": Argument("when"), "on_failure": Argument("on_failure")},
        {"connection": Nested("free", most=1), "_": _ESCAPED, "lifecycle": _RESERVED},
        is_open=True,
    ),
    "data": Block(
        "resource.go dataBlockSchema",
        ("name", "name"),
        _OF_RESOURCE,
        {"lifecycle": Nested("read_lifecycle", most=1), "_": _ESCAPED, "locals": _RESERVED},
        is_open=True,
        conflicts=_REPEATED,
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
            "_": _ESCAPED,
            "locals": _RESERVED,
            "connection": Nested("free", clients=ONLY_TERRAFORM),
            "provisioner": Nested("free", clients=ONLY_TERRAFORM),
        },
        is_open=True,
        conflicts=_REPEATED,
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
            "for_each": Argument(clients=ONLY_OPENTOFU),
            "count": Argument(clients=NONE),
            "depends_on": Argument(clients=NONE),
            "source": Argument(clients=NONE),
        },
        {"_": _ESCAPED, "lifecycle": _RESERVED, "locals": _RESERVED},
        is_open=True,
    ),
    "terraform": Block(
        "parser_config.go terraformBlockSchema; encryption: OpenTofu 1.7",
        arguments={
            "required_version": Argument("core_constraint", constant_for=ONLY_TERRAFORM),
            "experiments": Argument("list"),
            "language": Argument("keyword"),
        },
        blocks={
            "backend": Nested("backend"),
            "cloud": Nested("cloud"),
            "required_providers": Nested("required_providers"),
            "provider_meta": Nested("provider_meta"),
            "encryption": Nested("encryption", clients=ONLY_OPENTOFU),
            "state_store": Nested("state_store", clients=since(None, 14)),
        },
    ),
    "backend": Block("backend.go decodeBackendBlock", ("any",), is_open=True, unique="backend or cloud"),
    "cloud": Block("cloud.go decodeCloudBlock", is_open=True, unique="backend or cloud"),
    "state_store": Block("Terraform state_store.go", ("any",), is_open=True),
    "encryption": Block("OpenTofu internal/encryption/config", is_open=True, unique="encryption"),
    "required_providers": Block(
        "provider_requirements.go decodeRequiredProvidersBlock", only_arguments="required_provider"
    ),
    "provider_meta": Block(
        "provider_meta.go decodeProviderMetaBlock",
        ("provider",),
        only_arguments="constant",
        unique="provider_meta",
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
    ),
    "removed_provisioner": Block(
        "removed.go decodeRemovedBlock; provisioner.go provisionerBlockSchema",
        ("provisioner",),
        {"when": Argument("destroy", required=EVERY), "on_failure": Argument("on_failure")},
        {"connection": Nested("free", most=1), "_": _ESCAPED, "lifecycle": _RESERVED},
        is_open=True,
    ),
    "removed_lifecycle": Block("removed.go removedLifecycleBlockSchema", arguments={"destroy": _FLAG}),
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
        primary=EVERY,
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
            "depends_on": Argument("references"),
            "count": Argument(clients=NONE),
            "for_each": Argument(clients=NONE),
        },
        {"lifecycle": _RESERVED, "_": _ESCAPED, "locals": _RESERVED},
        is_open=True,
    ),
    "language": Block(
        "OpenTofu 1.12 language.go languageBlockSchema",
        arguments={"edition": Argument("edition"), "experiments": Argument("list")},
        blocks={"compatible_with": Nested("compatible_with")},
        primary=EVERY,
        clients=ONLY_OPENTOFU,
    ),
    "compatible_with": Block(
        "OpenTofu 1.12 language.go languageCompatibleWithSchema",
        arguments={"opentofu": Argument("constraint", constant_for=EVERY)},
        is_open=True,
        clients=ONLY_OPENTOFU,
    ),
}
