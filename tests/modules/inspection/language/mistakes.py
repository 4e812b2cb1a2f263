"""Mistakes made from the table: each rule broken once in the sample of its block, in both syntaxes."""

import json
from collections.abc import Iterator
from dataclasses import replace

from apps.modules.inspection.language.clients import EVERY
from apps.modules.inspection.language.schema import BLOCKS
from tests.modules.inspection.language.newer import NEWER
from tests.modules.inspection.language.samples import SAMPLES, Sample

# Values that break a rule.
WRONG: dict[str, tuple[str, ...]] = {
    "text": ('["a"]', "{ a = 1 }"),
    "words": ('["a"]',),
    "flag": ('"maybe"', "3", "[true]"),
    "type": ("strin", '"string"', "list", "set", "map(string, number)", "object(string)", "optional(string)", "3"),
    "output_type": ("strin", "object(string)"),
    "default": ('"many"', "[1]", "{ a = 1 }", "true", "null"),
    "condition": ("true", "1 > 2"),
    "condition_of_variable": ("true", "local.a > 1"),
    "references": ("acme_thing.web", "[1]", "{ a = 1 }"),
    "list": ("3", "acme_thing.web"),
    "some": ("[]",),
    "ignored": ("tags", '["*"]', "[1]"),
    "when": ("always", "3"),
    "on_failure": ("stop",),
    "trigger_failure": ("stop",),
    "events": ("[]", "[always]", "[after_create, after_create]"),
    "alias": ('"a b"', '["a"]'),
    "provider": ("acme.replica.more", "3", "Acme"),
    "providers": ("acme", "{ acme = 3 }", "{ Acme = acme }"),
    "constraint": ('"latest"', '">= x"', '"=> 1.0"', '["1.0"]'),
    "evaluated_constraint": ('"latest"', '">= x"', '"=> 1.0"', '["1.0"]'),
    "source": ('"acme vpc"', '"Acme/vpc"', '"./network"', '"github.com/acme/vpc/aws"', '["acme/vpc/aws"]'),
    "moved": ("acme_thing", "3", "acme_thing.a.b.c", "module.network"),
    "removed": ("acme_thing", "3", "acme_thing.a[0]", "data.acme_thing.gone"),
    "imported": ("acme_thing", "[acme_thing.a]"),
    "edition": ("tofu1999", "3"),
}
WITHOUT_VERSION = ('"vpc"', '"acme vpc"', '"modules/vpc"', '"modules/a/b/c"', '"a/b/C"', '""', '["./x"]')
ENTRIES = {  # of required_providers
    "a name in capitals": ("Acme", '{ source = "acme/acme" }'),
    "a list": ("acme", '["acme/acme"]'),
    "a constraint": ("acme", '"newest"'),
    "an unknown key": ("acme", '{ sources = "acme/acme" }'),
    "a constraint in an object": ("acme", '{ source = "acme/acme", version = "newest" }'),
    "four parts": ("acme", '{ source = "a/b/c/d" }'),
    "a source with spaces": ("acme", '{ source = "acme corp/acme" }'),
    "a source that is a number": ("acme", "{ source = 3 }"),
    "the prefix of repositories": ("acme", '{ source = "acme/terraform-provider-acme" }'),
    "aliases that are no list": ("acme", "{ configuration_aliases = acme.a }"),
    "aliases of another": ("acme", "{ configuration_aliases = [other.a] }"),
}


def mistakes() -> Iterator[tuple[str, dict[str, str]]]:
    """A name for each, and its files."""
    for top in [*SAMPLES, *(sample for _, sample in NEWER)]:
        yield from _files(top, top, lambda sample: sample)


def _files(top: Sample, sample: Sample, place) -> Iterator[tuple[str, dict[str, str]]]:
    """`place` puts the broken block into its surroundings."""
    path = sample.kind if top is sample else f"{top.kind}.{sample.kind}"
    for name, broken, syntaxes in _broken(sample):
        whole = place(broken)
        if "hcl" in syntaxes:
            yield f"{path}: {name}", {"main.tf": whole.hcl()}
        if "json" in syntaxes:
            yield f"{path}: {name}, JSON", {"main.tf.json": json.dumps({whole.kind: [whole.labelled()]}, indent=2)}
    block = BLOCKS[sample.key]
    if block.primary == EVERY:
        yield f"{path}: in an override file", {"main.tf": "", "override.tf": place(sample).hcl()}
    if block.unique:
        both = place(sample).hcl() + place(sample).hcl()
        yield (
            f"{path}: twice in a module",
            {"main.tf": place(sample).hcl(), "other.tf": place(sample).hcl(), "x.tf": ""},
        )
        yield f"{path}: twice in a file", {"main.tf": both}
    for at, inner in enumerate(sample.blocks):
        if inner.key != "free":

            def within(broken, at=at):
                return place(replace(sample, blocks=(*sample.blocks[:at], broken, *sample.blocks[at + 1 :])))

            yield from _files(top, inner, within)


BOTH, HCL = ("hcl", "json"), ("hcl",)


def _broken(sample: Sample) -> Iterator[tuple[str, Sample, tuple[str, ...]]]:
    block = BLOCKS[sample.key]
    if sample.labels:
        yield "a label is missing", replace(sample, labels=sample.labels[1:]), HCL
    yield "a label too many", replace(sample, labels=(*sample.labels, "more")), HCL
    for at, rule in enumerate(block.labels):
        for wrong in {"name": ("1st", "a b"), "variable": ("a.b", "source"), "provider": ("Acme", "a_b")}.get(rule, ()):
            labels = (*sample.labels[:at], wrong, *sample.labels[at + 1 :])
            yield f"label {at + 1} is {wrong}", replace(sample, labels=labels), BOTH
        if rule == "provisioner":
            yield "it was removed", replace(sample, labels=("chef",)), BOTH
    if not block.is_open and block.only_arguments is None:
        yield "an unknown argument", sample.having("surprise", "1"), BOTH
        yield "an unknown block", replace(sample, blocks=(*sample.blocks, Sample("free", "surprise"))), HCL
    if block.only_arguments is not None:
        yield "a block in it", replace(sample, blocks=(Sample("free", "surprise"),)), HCL
    if block.only_arguments == "required_provider":
        for name, (key, value) in ENTRIES.items():
            yield name, replace(sample, arguments={key: value}), BOTH
    if block.only_arguments == "constant":
        yield "a reference", sample.having("module", "var.x"), HCL
    yield from _broken_arguments(sample)
    yield from _broken_together(sample)
    yield from _broken_blocks(sample)


def _broken_arguments(sample: Sample) -> Iterator[tuple[str, Sample, tuple[str, ...]]]:
    block = BLOCKS[sample.key]
    for name, argument in block.arguments.items():
        if argument.required == EVERY:
            yield f"{name} is missing", sample.without(name), BOTH
        if not argument.clients:
            yield f"{name} is reserved", sample.having(name, "1"), BOTH
            continue
        if name not in sample.arguments:
            continue
        twice = replace(sample, arguments={**sample.arguments, f"{name} = {sample.arguments[name]}\n  {name}": "1"})
        yield f"{name} is set twice", twice, HCL
        if argument.constant_for == EVERY:
            yield f"{name} is a reference", sample.having(name, "var.x"), HCL
            yield f"{name} is a call", sample.having(name, 'upper("a")'), HCL
        is_local = argument.rule == "source" and "version" not in sample.arguments
        for wrong in WITHOUT_VERSION if is_local else WRONG.get(argument.rule, ()):
            yield f"{name} is {wrong}", sample.having(name, wrong), BOTH if argument.rule != "type" else HCL
        if not block.is_open:
            as_block = replace(sample.without(name), blocks=(*sample.blocks, Sample("free", name)))
            yield f"{name} is a block", as_block, HCL


def _broken_together(sample: Sample) -> Iterator[tuple[str, Sample, tuple[str, ...]]]:
    block = BLOCKS[sample.key]
    for group in block.conflicts:
        names = [name for name in group if "." not in name][:2]
        both = sample.having(names[0], "1").having(names[1], '"i"')
        yield f"{' and '.join(names)}", both, BOTH
    if block.one_of:
        neither = sample
        for name in block.one_of:
            neither = neither.without(name)
        yield f"neither {' nor '.join(block.one_of)}", neither, BOTH


def _broken_blocks(sample: Sample) -> Iterator[tuple[str, Sample, tuple[str, ...]]]:
    block = BLOCKS[sample.key]
    for kind, nested in block.blocks.items():
        labels = ("acme", "acme")[: len(BLOCKS[nested.key].labels)]
        if not nested.clients:
            yield f"{kind} is reserved", replace(sample, blocks=(*sample.blocks, Sample(nested.key, kind))), BOTH
        there = [inner for inner in sample.blocks if inner.kind == kind]
        if there and nested.most is not None and nested.most_for == EVERY:
            more = there[:1] if kind != "data" else [replace(there[0], labels=("acme_thing", "second"))]
            yield f"two blocks {kind}", replace(sample, blocks=(*sample.blocks, *more)), BOTH
        if nested.least and there:
            fewer = tuple(inner for inner in sample.blocks if inner.kind != kind)
            yield f"no block {kind}", replace(sample, blocks=fewer), BOTH
        if there and not labels and not block.is_open:
            fewer = tuple(inner for inner in sample.blocks if inner.kind != kind)
            yield f"{kind} is an argument", replace(sample, blocks=fewer).having(kind, "1"), HCL
