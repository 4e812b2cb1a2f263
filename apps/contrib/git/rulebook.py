"""Rules of a repository, checked as people give them: a tag pattern, a folder, and a module's name/system."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import normpath
from typing import Any

from django.conf import settings

from apps.contrib.git.models import GitRepository, Rule
from apps.contrib.git.remote import patterns
from apps.lib.addresses import check_module_name, check_system
from apps.lib.errors import Invalid
from apps.modules import folder_names

MAX_RULES = 200
MAX_FOLDER_CHARACTERS = 200
NAME = "{name}"
_FIELDS = ("tag", "folder", "module")
_HINT = 'Write it such as {"tag": "v{version}", "folder": "", "module": "vpc/aws"}.'


@dataclass(frozen=True, slots=True)
class CheckedRule:
    tag: str
    folder: str
    module: str

    def as_json(self) -> dict[str, str]:
        return {"tag": self.tag, "folder": self.folder, "module": self.module}


def checked(given: Iterable[Mapping[str, Any]]) -> list[CheckedRule]:
    """Raises Invalid, which names the rule by its number."""
    found: list[CheckedRule] = []
    for number, one in enumerate(given, 1):
        if number > MAX_RULES:
            raise Invalid(f"There are more than {MAX_RULES} rules.", hint="Use {name} to cover several modules.")
        try:
            rule = _checked(one)
        except Invalid as problem:
            text = str(problem)
            raise Invalid(f"Rule {number}: {text[:1].lower()}{text[1:]}", hint=problem.hint) from None
        if rule in found:
            raise Invalid(f"Rule {number} is the same as rule {found.index(rule) + 1}.", hint="Remove one of them.")
        found.append(rule)
    return found


def check_module(module: str) -> None:
    """The rules of an address that may be new. Raises Invalid."""
    name, slash, system = module.partition("/")
    if not slash:
        raise Invalid(f"The module is {module[:80]!r}, expected name/system such as vpc/aws.", hint=_HINT)
    check_module_name(name, reserved=settings.RESERVED_NAMES)
    check_system(system)


def replace(repository: GitRepository, rules: Sequence[CheckedRule]) -> None:
    """In the caller's transaction."""
    repository.rules.all().delete()
    Rule.objects.bulk_create(
        Rule(repository=repository, position=position, tag=rule.tag, folder=rule.folder, module=rule.module)
        for position, rule in enumerate(rules)
    )


def of(repository: GitRepository) -> list[CheckedRule]:
    rows = repository.rules.order_by("position").values_list("tag", "folder", "module")
    return [CheckedRule(*row) for row in rows]


def _checked(given: Mapping[str, Any]) -> CheckedRule:
    if not isinstance(given, Mapping):
        raise Invalid(f"Found {type(given).__name__}, expected an object.", hint=_HINT)
    if unknown := sorted(str(name) for name in given if name not in _FIELDS):
        raise Invalid(f"There is no field {unknown[0][:40]!r}.", hint=_HINT)
    texts = {name: given.get(name) or "" for name in _FIELDS}
    if wrong := next((name for name, text in texts.items() if not isinstance(text, str)), None):
        raise Invalid(f"The {wrong} is {type(texts[wrong]).__name__}, expected text.", hint=_HINT)
    tag, module = patterns.check(texts["tag"].strip()), texts["module"].strip().strip("/")
    folder = _folder(texts["folder"])
    if NAME in tag and NAME not in module:
        raise Invalid(
            f"The tag pattern {tag!r} has {NAME}, and the module {module!r} has not: different names would be versions "
            "of one module.",
            hint=f"Write the module such as {NAME}/aws.",
        )
    if NAME in folder + module and NAME not in tag:
        raise Invalid(
            f"{NAME} is used, but the tag pattern {tag!r} has none.", hint="Use a pattern such as {name}-{version}."
        )
    check_module(patterns.filled(module, "example"))
    return CheckedRule(tag, folder, module)


def _folder(text: str) -> str:
    folder = folder_names.clean_folder(text)
    folder = "" if not folder else normpath(folder)
    if len(folder) > MAX_FOLDER_CHARACTERS or not folder.isprintable() or folder in ("*", "."):
        raise Invalid(
            f"The folder is {folder[:80]!r}, expected at most {MAX_FOLDER_CHARACTERS} characters that can be printed.",
            hint="Write it as in the repository, such as modules/vpc; leave it empty for all of the repository.",
        )
    return folder
