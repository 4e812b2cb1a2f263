"""The table's entries of the `terraform` and `language` blocks, and of what is in them."""

from collections.abc import Mapping

from apps.modules.inspection.language.clients import EVERY, NONE, ONLY_OPENTOFU, ONLY_TERRAFORM
from apps.modules.inspection.language.table import FLAG, TEXT, Argument, Block, Nested

SETTINGS: Mapping[str, Block] = {
    "terraform": Block(
        "parser_config.go terraformBlockSchema; encryption: OpenTofu 1.7",
        arguments={
            "required_version": Argument("core_constraint", constant_for=ONLY_TERRAFORM),
            "experiments": Argument("experiments"),
            "language": Argument("language"),
        },
        blocks={
            "backend": Nested("backend"),
            "cloud": Nested("cloud"),
            "required_providers": Nested("required_providers"),
            "provider_meta": Nested("provider_meta"),
            "encryption": Nested("encryption", clients=ONLY_OPENTOFU),
            "state_store": Nested("state_store", clients=NONE),  # an experiment of Terraform
        },
    ),
    "backend": Block(
        "backend.go decodeBackendBlock", ("any",), is_open=True, is_undecoded=True, unique="backend or cloud"
    ),
    "cloud": Block("cloud.go decodeCloudBlock", is_open=True, is_undecoded=True, unique="backend or cloud"),
    "state_store": Block("Terraform state_store.go", ("any",), is_open=True),
    "encryption": Block(
        "OpenTofu internal/encryption/config config.go, config_parse.go DecodeConfig",
        blocks={
            "key_provider": Nested("key_provider"),
            "method": Nested("encryption_method"),
            "state": Nested("enforceable_target", most=1),
            "plan": Nested("enforceable_target", most=1),
            "remote_state_data_sources": Nested("remote_targets", most=1),
        },
        unique="encryption",
        checks=("named_once",),
    ),
    "key_provider": Block(
        "OpenTofu internal/encryption/config config.go KeyProviderConfig; keyprovider/addr.go NewAddr",
        ("key_provider", "key_provider"),
        {"encrypted_metadata_alias": TEXT},
        is_open=True,
    ),
    "encryption_method": Block(
        "OpenTofu internal/encryption/config config.go MethodConfig; method/addr.go NewAddr",
        ("key_provider", "key_provider"),
        is_open=True,
    ),
    "enforceable_target": Block(
        "OpenTofu internal/encryption/config config.go EnforceableTargetConfig",
        arguments={"enforced": FLAG, "method": Argument()},
        blocks={"fallback": Nested("target", most=1)},
    ),
    "target": Block(
        "OpenTofu internal/encryption/config config.go TargetConfig",
        arguments={"method": Argument()},
        blocks={"fallback": Nested("target", most=1)},
    ),
    "named_target": Block(
        "OpenTofu internal/encryption/config config.go NamedTargetConfig",
        ("any",),
        {"method": Argument()},
        {"fallback": Nested("target", most=1)},
    ),
    "remote_targets": Block(
        "OpenTofu internal/encryption/config config.go RemoteConfig",
        blocks={"default": Nested("target", most=1), "remote_state_data_source": Nested("named_target")},
        checks=("named_once",),
    ),
    "required_providers": Block(
        "provider_requirements.go decodeRequiredProvidersBlock", only_arguments="required_provider"
    ),
    "provider_meta": Block(
        "provider_meta.go decodeProviderMetaBlock",
        ("provider",),
        only_arguments="constant",
        unique="provider_meta",
    ),
    "language": Block(
        "OpenTofu 1.12 language.go languageBlockSchema",
        arguments={"edition": Argument("edition"), "experiments": Argument("no_experiments")},
        blocks={"compatible_with": Nested("compatible_with", most=1)},
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
