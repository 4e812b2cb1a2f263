"""Samples of what only some releases know."""

from tests.modules.inspection.language.samples import Sample, of

TRIGGER = {
    "events": "[after_create, before_update]",
    "actions": "[action.acme_restart.web]",
    "condition": "var.x",
}


def living(*blocks: Sample, **arguments: str) -> Sample:
    """A resource with this lifecycle."""
    return of("resource", ("a_b", "c"), of("lifecycle", (), *blocks, **arguments))


DECLARED = 'variable "y" {\n  default = {}\n}\n'
_FALLBACK = of("fallback", key="target", method="method.unencrypted.old")
ENCRYPTION = of(
    "encryption",
    (),
    of("key_provider", ("pbkdf2", "main"), encrypted_metadata_alias='"a"', passphrase="var.y"),
    of("method", ("aes_gcm", "main"), key="encryption_method", keys="key_provider.pbkdf2.main"),
    of("state", (), _FALLBACK, key="enforceable_target", enforced="true", method="method.aes_gcm.main"),
    of("plan", key="enforceable_target", method="method.aes_gcm.main"),
    of(
        "remote_state_data_sources",
        (),
        of("default", key="target", method="method.aes_gcm.main"),
        of("remote_state_data_source", ("other",), key="named_target", method="method.aes_gcm.main"),
        key="remote_targets",
    ),
)
# The clients that the page names, and the sample, beside what is DECLARED.
NEWER: tuple[tuple[str, Sample], ...] = (
    ("OpenTofu", of("language", (), of("compatible_with", (), opentofu='">= 1.12"'), edition="tofu2024")),
    ("Terraform 1.14", of("action", ("acme_restart", "web"), of("config", key="free", a="1"), provider="acme")),
    ("OpenTofu or Terraform 1.15", of("variable", ("x",), const="true")),
    ("OpenTofu or Terraform 1.15", of("variable", ("x",), deprecated='"Use y."')),
    ("OpenTofu or Terraform 1.15", of("output", ("x",), value="1", deprecated='"Use y."')),
    ("Terraform 1.15", of("output", ("x",), value="1", type="number")),
    ("OpenTofu or Terraform 1.15", of("module", ("x",), source='"./${var.y}"')),
    ("OpenTofu", living(enabled="var.x")),
    ("OpenTofu", living(prevent_destroy="var.x")),
    ("OpenTofu or Terraform 1.16", living(destroy="false")),
    ("Terraform 1.14", living(of("action_trigger", (), **TRIGGER))),
    ("OpenTofu", of("module", ("x",), of("lifecycle", key="module_lifecycle", enabled="var.x"), source='"./x"')),
    ("OpenTofu", of("data", ("a_b", "c"), of("lifecycle", key="read_lifecycle", enabled="var.x"))),
    ("OpenTofu", of("provider", ("acme",), alias='"all"', for_each="var.y")),
    ("OpenTofu", of("terraform", (), ENCRYPTION)),
    ("OpenTofu or Terraform 1.12", of("import", (), to="acme_thing.x", identity="var.x")),
)
