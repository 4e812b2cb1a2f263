"""A correct sample of every block in the table, with every argument that all its clients know, as HCL and as JSON."""

import json
import re
from dataclasses import dataclass, field, replace

from apps.modules.inspection.language.schema import BLOCKS

LITERAL = re.compile(r"-?\d+(\.\d+)?|true|false|null")
# Rules whose values are names and references: in JSON they are strings without "${…}".
BARE = {
    *("type", "output_type", "references", "ignored", "when", "destroy", "on_failure", "trigger_failure", "keyword"),
    *(
        "edition",
        "events",
        "provider",
        "providers",
        "moved",
        "removed",
        "imported",
        "replacing",
        "actions",
        "experiments",
    ),
    "required_provider",
}


@dataclass(frozen=True)
class Sample:
    """`key`: its entry in the table; `arguments`: HCL by name. `file` is its file without suffix."""

    key: str
    kind: str
    labels: tuple[str, ...] = ()
    arguments: dict[str, str] = field(default_factory=dict)
    blocks: tuple["Sample", ...] = ()

    def hcl(self, indent: str = "") -> str:
        head = " ".join([self.kind, *(json.dumps(label, ensure_ascii=False) for label in self.labels)])
        lines = [f"{indent}  {name} = {value}\n" for name, value in self.arguments.items()]
        inner = [block.hcl(f"{indent}  ") for block in self.blocks]
        return f"{indent}{head} {{\n{''.join([*lines, *inner])}{indent}}}\n"

    def json(self) -> dict:
        body: dict = {name: self.in_json(name, value) for name, value in self.arguments.items()}
        for block in self.blocks:
            body.setdefault(block.kind, []).append(block.labelled())
        return body

    def labelled(self) -> dict:
        found = self.json()
        for label in reversed(self.labels):
            found = {label: found}
        return found

    def in_json(self, name: str, value: str):
        block = BLOCKS.get(self.key)
        argument = block.arguments.get(name) if block else None
        rule = (argument.rule if argument else block.only_arguments if block else "") or ""
        return as_json(value, is_bare=rule in BARE)

    def without(self, name: str) -> "Sample":
        return replace(self, arguments={key: value for key, value in self.arguments.items() if key != name})

    def having(self, name: str, value: str) -> "Sample":
        return replace(self, arguments={**self.arguments, name: value})


def as_json(value: str, *, is_bare: bool):
    if value.startswith('"'):
        return json.loads(value)
    if LITERAL.fullmatch(value):
        return json.loads(value)
    if value.startswith("["):
        inside = value[1:-1].strip()
        return [as_json(part.strip(), is_bare=is_bare) for part in inside.split(",")] if inside else []
    if value.startswith("{"):
        inside = value[1:-1].strip()
        pairs = [part.split("=", 1) for part in inside.split(",")] if inside else []
        return {key.strip().strip('"'): as_json(one.strip(), is_bare=is_bare) for key, one in pairs}
    return value if is_bare else f"${{{value}}}"


def of(kind: str, labels: tuple[str, ...] = (), *blocks: Sample, key: str = "", **arguments: str) -> Sample:
    return Sample(key or kind, kind, labels, arguments, blocks)


CONDITION = {"condition": "var.size > 1", "error_message": '"Too small."'}
RULE = of("precondition", (), key="condition", **CONDITION)
_OWN = of("precondition", (), key="own_condition", **CONDITION)
_CONNECTION = of("connection", key="free", host='"h"')
_ESCAPED = of("_", key="free", count="1")
_PROVISIONER = of("provisioner", ("local-exec",), _CONNECTION, when="destroy", on_failure="continue", command='"true"')
_LIFECYCLE = of(
    "lifecycle",
    (),
    _OWN,
    replace(_OWN, kind="postcondition"),
    create_before_destroy="true",
    prevent_destroy="false",
    ignore_changes="[tags, name]",
    replace_triggered_by="[acme_thing.other]",
)
_READ = of("lifecycle", (), _OWN, key="read_lifecycle")
_META = {"count": "2", "provider": "acme.replica", "depends_on": "[acme_thing.other]", "anything": "var.size"}
_REQUIRED = {
    "acme": '{ source = "acme/acme", version = ">= 1.0", configuration_aliases = [acme.replica] }',
    "plain": '">= 1.0"',
}

SAMPLES: tuple[Sample, ...] = (
    of(
        "variable",
        ("size",),
        of("validation", (), **CONDITION),
        description='"How large."',
        type="number",
        default="3",
        sensitive="false",
        nullable="false",
        ephemeral="false",
    ),
    of(
        "output",
        ("size",),
        RULE,
        description='"How large."',
        value="var.size",
        depends_on="[acme_thing.web]",
        sensitive="true",
        ephemeral="false",
    ),
    of("locals", a="1", b="var.size"),
    of(
        "module",
        ("network",),
        _ESCAPED,
        source='"acme/vpc/aws"',
        version='">= 1.0, < 2.0"',
        providers="{ acme = acme.replica }",
        depends_on="[acme_thing.web]",
        count="2",
        anything="var.size",
    ),
    of("resource", ("acme_thing", "web"), _LIFECYCLE, _CONNECTION, _PROVISIONER, _ESCAPED, **_META),
    of("data", ("acme_thing", "found"), _READ, _ESCAPED, **_META),
    of("ephemeral", ("acme_secret", "key"), _READ, _ESCAPED, **_META),
    of("provider", ("acme",), _ESCAPED, alias='"replica"', version='"~> 1.0"', region="var.size"),
    of(
        "terraform",
        (),
        of("backend", ("local",), path='"x"'),
        of("required_providers", (), **_REQUIRED),
        of("provider_meta", ("acme",), module='"x"'),
        required_version='">= 1.5"',
    ),
    of("moved", (), **{"from": "acme_thing.old", "to": "acme_thing.web"}),
    of(
        "removed",
        (),
        of("lifecycle", key="removed_lifecycle", destroy="false"),
        replace(_PROVISIONER, key="removed_provisioner"),
        **{"from": "acme_thing.gone"},
    ),
    of("import", to="acme_thing.imported", id='"i-1"', provider="acme.replica"),
    of(
        "check",
        ("healthy",),
        of(
            "data",
            ("acme_thing", "checked"),
            _ESCAPED,
            key="checked_data",
            provider="acme",
            depends_on="[acme_thing.web]",
        ),
        replace(RULE, kind="assert"),
    ),
)
