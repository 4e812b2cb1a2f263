"""The rules for values of arguments, by the words of the table, and for a block as a whole.

values      texts, flags, keywords and version constraints
named       variables, outputs and local values
resources   resources and their provisioners
providers   configurations of providers, references to them and requirements
modules     calls of modules
state       moved, removed and import
"""

from collections.abc import Mapping

from apps.modules.inspection.language.rules import modules, named, providers, resources, state, values
from apps.modules.inspection.language.rules.cases import Check, Rule

RULES: Mapping[str, Rule] = {
    "text": values.text,
    "words": values.words,
    "flag": values.flag,
    "flag_of_terraform": values.flag_of_terraform,
    "constant": values.constant,
    "when": values.keyword("create", "destroy", quoted=True),
    "destroy": values.keyword("destroy", quoted=True),
    "on_failure": values.keyword("continue", "fail", quoted=True),
    "trigger_failure": values.keyword("halt", "taint", "continue"),
    "edition": values.keyword("tofu2024"),
    "language": values.language,
    "experiments": values.experiments,
    "no_experiments": values.no_experiments,
    "constraint": values.constraint,
    "core_constraint": values.core_constraint,
    "type": named.type_,
    "output_type": named.output_type,
    "default": named.default,
    "condition": named.condition,
    "own_condition": named.own_condition,
    "not_itself": named.not_itself,
    "condition_of_variable": named.condition_of_variable,
    "local": named.local,
    "references": resources.references,
    "no_references": resources.no_references,
    "ignored": resources.ignored,
    "replacing": resources.replacing,
    "events": resources.events,
    "actions": resources.actions,
    "alias": providers.alias,
    "provider": providers.provider,
    "providers": providers.providers,
    "instances": providers.instances,
    "required_provider": providers.required_provider,
    "source": modules.source,
    "version": modules.version,
    "moved": state.moved,
    "removed": state.removed,
    "imported": state.imported,
}

CHECKS: Mapping[str, Check] = {
    "named_once": values.named_once,
    "constant_of_terraform": named.constant_of_terraform,
    "implied_provider": named.implied_provider,
    "destroying": resources.destroying,
    "connected": resources.connected,
    "alias_for_instances": providers.alias_for_instances,
    "no_module": state.no_module,
    "no_provider_in_module": state.no_provider_in_module,
}
