"""Samples of what only some releases know."""

from tests.modules.inspection.language.samples import Sample

# The clients that the page names, and the sample.
NEWER: tuple[tuple[str, Sample], ...] = (
    (
        "OpenTofu",
        Sample(
            "language",
            "language",
            (),
            {"edition": "tofu2024"},
            (Sample("compatible_with", "compatible_with", arguments={"opentofu": '">= 1.12"'}),),
        ),
    ),
    (
        "Terraform 1.14",
        Sample(
            "action",
            "action",
            ("acme_restart", "web"),
            {"provider": "acme"},
            (Sample("free", "config", arguments={"a": "1"}),),
        ),
    ),
    ("OpenTofu or Terraform 1.15", Sample("variable", "variable", ("x",), {"const": "true"})),
    ("OpenTofu or Terraform 1.15", Sample("variable", "variable", ("x",), {"deprecated": '"Use y."'})),
    ("OpenTofu or Terraform 1.15", Sample("output", "output", ("x",), {"value": "1", "deprecated": '"Use y."'})),
    ("Terraform 1.15", Sample("output", "output", ("x",), {"value": "1", "type": "number"})),
    ("OpenTofu or Terraform 1.15", Sample("module", "module", ("x",), {"source": '"./${var.x}"'})),
    (
        "OpenTofu",
        Sample(
            "resource",
            "resource",
            ("a_b", "c"),
            {},
            (Sample("lifecycle", "lifecycle", arguments={"enabled": "var.x"}),),
        ),
    ),
    (
        "OpenTofu",
        Sample(
            "resource",
            "resource",
            ("a_b", "c"),
            {},
            (Sample("lifecycle", "lifecycle", arguments={"prevent_destroy": "var.x"}),),
        ),
    ),
    (
        "OpenTofu or Terraform 1.16",
        Sample(
            "resource",
            "resource",
            ("a_b", "c"),
            {},
            (Sample("lifecycle", "lifecycle", arguments={"destroy": "false"}),),
        ),
    ),
    (
        "Terraform 1.14",
        Sample(
            "resource",
            "resource",
            ("a_b", "c"),
            {},
            (
                Sample(
                    "lifecycle",
                    "lifecycle",
                    (),
                    {},
                    (
                        Sample(
                            "action_trigger",
                            "action_trigger",
                            (),
                            {
                                "events": "[after_create, before_update]",
                                "actions": "[action.acme_restart.web]",
                                "condition": "var.x",
                            },
                        ),
                    ),
                ),
            ),
        ),
    ),
    (
        "OpenTofu",
        Sample(
            "module",
            "module",
            ("x",),
            {"source": '"./x"'},
            (Sample("module_lifecycle", "lifecycle", arguments={"enabled": "var.x"}),),
        ),
    ),
    (
        "OpenTofu",
        Sample(
            "data", "data", ("a_b", "c"), {}, (Sample("read_lifecycle", "lifecycle", arguments={"enabled": "var.x"}),)
        ),
    ),
    ("OpenTofu", Sample("provider", "provider", ("acme",), {"alias": '"all"', "for_each": "var.x"})),
    ("OpenTofu", Sample("terraform", "terraform", (), {}, (Sample("encryption", "encryption"),))),
    ("OpenTofu or Terraform 1.12", Sample("import", "import", (), {"to": "acme_thing.x", "identity": "var.x"})),
)
