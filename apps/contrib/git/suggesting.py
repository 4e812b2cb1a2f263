"""Suggest rules for a repository: few, which explain most of its tags, and no two that make one module of a tag."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from apps.contrib.git.module_folders import Folder
from apps.contrib.git.remote import patterns
from apps.lib.errors import RegistryError
from apps.lib.versions import parse

_TAG = re.compile(r"(?P<before>.*?)(?P<v>v?)(?P<version>[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]+)?)", re.ASCII)
_SEPARATORS = "/-_@.:"
_LEAST_UNKNOWN = 3
# To so many modules of its own provider a rule with {name} may take one that has another first, or none; and one that
# does not require it at all.
_OWN_TO_JOINING, _OWN_TO_OTHERS = 2, 20


@dataclass(frozen=True, slots=True)
class Rule:
    tag: str
    folder: str
    module: str

    def as_dict(self) -> dict[str, str]:
        return {"tag": self.tag, "folder": self.folder, "module": self.module}


@dataclass(frozen=True, slots=True)
class _Form:
    """The text around the version in tags of one kind: vpc/ and v. `core` is it without the separator."""

    before: str
    v: str

    @property
    def core(self) -> str:
        return self.before.rstrip(_SEPARATORS)

    @property
    def pattern(self) -> str:
        return f"{self.before}{self.v}{{version}}"


def suggested(folders: Sequence[Folder], tags: Iterable[str], repository: str) -> list[Rule]:
    """`repository`: the last part of its name. There may be more than people want to see."""
    if not folders:
        return []
    forms: dict[_Form, set[str]] = defaultdict(set)
    for tag in tags:
        if (read := _form_of(tag)) is not None:
            forms[read[0]].add(read[1])
    top = [folder for folder in folders if not folder.is_submodule]
    of_folders = _of_folders(folders, top, forms, repository)
    of_all = _of_repository(top, forms, repository, is_monorepo=bool(of_folders))
    rules = [*_collapsed(of_folders), *of_all] or _for_first_tag(top)
    return [rule for rule in rules if _is_valid(rule)]


def unexplained(folders: Sequence[Folder], tags: Iterable[str], repository: str) -> list[str]:
    """Return the newest tag of each form that names no folder, of most tags first: their commits may have others."""
    if [folder.path for folder in folders] == [""]:
        return []  # the repository is one module
    versions: dict[_Form, list[tuple[bytes, str]]] = defaultdict(list)
    for tag in tags:
        if (read := _form_of(tag)) is not None and read[0].before:
            versions[read[0]].append((parse(read[1]).sort_key, tag))
    top = [folder for folder in folders if not folder.is_submodule]
    explained = {form for found in _naming(folders, top, versions, repository).values() for form in found}
    left = [form for form in versions if form not in explained and form.core != repository]
    return [max(versions[form])[1] for form in sorted(left, key=lambda form: -len(versions[form]))]


def _is_valid(rule: Rule) -> bool:
    try:
        patterns.check(rule.tag)
    except RegistryError:  # a tag with braces or blanks
        return False
    return True


def _form_of(tag: str) -> tuple[_Form, str] | None:
    found = _TAG.fullmatch(tag)
    if found is None or "{" in tag or "}" in tag:
        return None
    before, v = found["before"], found["v"]
    if before and before[-1] not in _SEPARATORS:
        if not v and before[-1].isdigit():
            return None
        before, v = before + v, ""
    try:
        return _Form(before, v), parse(found["version"]).text
    except RegistryError:
        return None


def _of_folders(
    folders: Sequence[Folder], top: Sequence[Folder], forms: dict[_Form, set[str]], repository: str
) -> dict[Folder, list[_Form]]:
    """The forms of tags that name a folder; the newest habit of each folder comes first."""
    naming = _naming(folders, top, forms, repository)
    return {folder: _worthwhile(found, forms) for folder, found in naming.items()}


def _naming(
    folders: Sequence[Folder], top: Sequence[Folder], forms: Iterable[_Form], repository: str
) -> dict[Folder, list[_Form]]:
    known: dict[str, list[Folder]] = defaultdict(list)
    for folder in folders:
        for name in {folder.path, folder.path.replace("/", "-"), folder.last, folder.name} - {""}:
            known[name].append(folder)
    answer: dict[Folder, list[_Form]] = defaultdict(list)
    for form in forms:
        named = _named(form.core, known, top) if form.before and form.core != repository else None
        if named is not None:
            answer[named].append(form)
    return answer


def _named(core: str, known: dict[str, list[Folder]], top: Sequence[Folder]) -> Folder | None:
    """The folder that a tag names: vpc, modules/vpc, modules-vpc, or release/vpc; None if there are several."""
    named = known.get(core) or known.get(core.rpartition("/")[2], [])
    parts = set(core.split("/"))
    alike = {folder: (folder.path == core, len(parts & set(folder.path.split("/"))), folder in top) for folder in named}
    best = [folder for folder, likeness in alike.items() if likeness == max(alike.values())]
    return best[0] if len(best) == 1 and best[0].path else None


def _of_repository(
    top: Sequence[Folder], forms: dict[_Form, set[str]], repository: str, *, is_monorepo: bool
) -> list[Rule]:
    """Rules of tags that are versions of the whole repository: of its root, or else of every module in it."""
    roots = [folder for folder in top if not folder.path]
    if is_monorepo and not roots:
        return []  # each module has its own tags
    names = {repository, *(folder.name for folder in top)}
    plain = [form for form in forms if not form.before]
    if not plain and len(top) == 1 and not is_monorepo:
        own = [form for form in forms if form.core in names]
        plain = own or [max(forms, key=lambda form: len(forms[form]))] if forms else []
        if not own and plain and len(forms[plain[0]]) < _LEAST_UNKNOWN:
            plain = []
    return [Rule(form.pattern, folder.path, folder.module) for form in _worthwhile(plain, forms) for folder in top]


def _worthwhile(found: Sequence[_Form], forms: dict[_Form, set[str]]) -> list[_Form]:
    """The form of most tags, and others only if they have versions that none before them has."""
    seen: set[str] = set()
    answer = []
    for form in sorted(found, key=lambda form: (-len(forms[form]), form.before, form.v)):
        if forms[form] - seen:
            answer.append(form)
        seen |= forms[form]
    return answer


def _collapsed(of_folders: dict[Folder, list[_Form]]) -> list[Rule]:
    """One rule with {name} for folders that are alike, unless it would take tags of others.

    A few others may join, whose folder it is as well: those that require the same provider among others or none, and
    fewer that require another one. A rule for each of fifty modules helps no one.
    """
    plain = {
        Rule(form.pattern, folder.path, folder.module): folder for folder, forms in of_folders.items() for form in forms
    }
    groups: dict[Rule, list[Rule]] = defaultdict(list)
    for rule in plain:
        groups[_general(rule)].append(rule)
    answer: list[Rule] = []
    done: set[Rule] = set()
    for general, rules in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0].tag)):
        left = [rule for rule in rules if rule not in done]
        taken = [rule for rule in plain if rule not in rules and _takes(general, rule)]
        can_join = all(_is_folder_of(general, rule) for rule in taken) and not done & set(taken)
        others = [rule for rule in taken if not _fits_provider(general, plain[rule])]
        are_few = _OWN_TO_JOINING * len(taken) <= len(left) and _OWN_TO_OTHERS * len(others) <= len(left)
        if len(left) > 1 and can_join and are_few:
            answer.append(general)
            done.update(rules, taken)
        else:
            answer += sorted(left, key=lambda rule: (rule.folder, rule.tag))
            done.update(left)
    return answer


def _is_folder_of(general: Rule, rule: Rule) -> bool:
    found = patterns.match(general.tag, _sample(rule))
    return found is not None and patterns.filled(general.folder, found.name) == rule.folder


def _fits_provider(general: Rule, folder: Folder) -> bool:
    return not folder.providers or general.module.partition("/")[2] in (*folder.providers, folder.system)


def _general(rule: Rule) -> Rule:
    """{name} in place of the module's name; the rule itself where that is not in all three."""
    name, system = rule.module.split("/")
    before = rule.tag.removesuffix("{version}")
    v = "v" if before.endswith("v") else ""
    before = before.removesuffix("v") if v else before
    core = before.rstrip(_SEPARATORS)
    if not core.endswith(name) or not rule.folder.endswith(name) or before == core:
        return rule
    tag = f"{core.removesuffix(name)}{{name}}{before[len(core) :]}{v}{{version}}"
    return replace(rule, tag=tag, folder=f"{rule.folder.removesuffix(name)}{{name}}", module=f"{{name}}/{system}")


def _takes(general: Rule, other: Rule) -> bool:
    """Return whether it matches tags of the other rule."""
    return patterns.match(general.tag, _sample(other)) is not None


def _sample(rule: Rule) -> str:
    return rule.tag.replace("{version}", "1.0.0")


def _for_first_tag(top: Sequence[Folder]) -> list[Rule]:
    """For a repository without any tags of versions: what is usual."""
    if len(top) == 1:
        return [Rule("v{version}", top[0].path, top[0].module)]
    return _collapsed({folder: [_Form(f"{folder.last}/", "v")] for folder in top})


def version_of(tag: str) -> str:
    """The version at its end; empty if there is none."""
    read = _form_of(tag)
    return read[1] if read else ""
