"""Apply rules to a tag, without a database: the modules that it is a version of, or the reason why it is none."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from apps.contrib.git import rulebook
from apps.contrib.git.models import Verdict
from apps.contrib.git.remote import patterns
from apps.contrib.git.remote.refs import Ref
from apps.contrib.git.rulebook import CheckedRule
from apps.lib.errors import Invalid

MAX_NAME_CHARACTERS = 300
MAX_MODULE_CHARACTERS = 130
MAX_FOLDER_CHARACTERS = 200
# Each listing reads as many rows, and compares them.
MAX_VERSIONS = 100_000
_HEAD_CHARACTERS = 200


class TooManyVersions(Invalid):
    code = "too_many_versions"


class Decided(Exception):
    """The version is not published, or not yet. `found`: the commit that it has now, if that is another one."""

    def __init__(self, verdict: Verdict, code: str, text: str, *, found: str = "") -> None:
        super().__init__(text)
        self.verdict, self.code, self.found = verdict, code, found


@dataclass(frozen=True, slots=True)
class TagMatch:
    """`module` is empty for a tag that fits no rule. `verdict`: waiting, ignored or refused; of another registry's
    version also moved.
    """

    module: str = ""
    folder: str = ""
    version: str = ""
    sort_key: bytes = b""
    verdict: str = Verdict.WAITING
    code: str = ""
    reason: str = ""
    known_since: datetime | None = None  # of a version of another registry


def stored_name(ref: Ref) -> str:
    """Return the name as rows have it: a long one is cut, and its digits keep it apart from others."""
    if len(ref.name) <= MAX_NAME_CHARACTERS:
        return ref.name
    return f"{ref.name[:_HEAD_CHARACTERS]}… ({len(ref.name)} characters, {ref.commit[:12]})"


def match_all(found: Iterable[Ref], match: Callable[[Ref], list[TagMatch]]) -> list[tuple[Ref, TagMatch]]:
    """Return what `match` finds for each. Raises TooManyVersions."""
    answer: list[tuple[Ref, TagMatch]] = []
    for ref in found:
        answer += ((ref, one) for one in match(ref))
        if len(answer) > MAX_VERSIONS:
            raise TooManyVersions(
                f"The rules make more than {MAX_VERSIONS:,} versions of the tags.",
                hint="Remove rules, or use patterns that match fewer tags.",
            )
    return answer


def match_rules(ref: Ref, rules: Sequence[CheckedRule]) -> list[TagMatch]:
    """Return one for each module that the tag is a version of, else one that says why there is none."""
    if not ref.is_text:
        return [_ignored("not_utf8", "Its name is not UTF-8. Tag the commit again with a plain name.")]
    if len(ref.name) > MAX_NAME_CHARACTERS:
        return [_ignored("name_too_long", f"Its name has {len(ref.name)} characters, expected at most 300.")]
    found: dict[str, TagMatch] = {}
    # Once for each pattern: a repository of many modules with one version has as many rules with the same.
    matches = {pattern: patterns.match(pattern, ref.name) for pattern in {rule.tag for rule in rules}}
    for rule in rules:
        match = matches[rule.tag]
        if match is not None:
            module = patterns.filled(rule.module, match.name)
            # Of two rules that lead to one module, the first counts.
            found.setdefault(module[:MAX_MODULE_CHARACTERS], _fitting(rule, module, match))
    return list(found.values()) or [_unfitting(ref.name, rules)]


def _fitting(rule: CheckedRule, module: str, match: patterns.Match) -> TagMatch:
    folder = patterns.filled(rule.folder, match.name)
    problem = _problem_of(module)
    if len(folder) > MAX_FOLDER_CHARACTERS:
        problem = f"Its folder would have {len(folder)} characters, expected at most {MAX_FOLDER_CHARACTERS}."
    return TagMatch(
        module[:MAX_MODULE_CHARACTERS],
        folder[:MAX_FOLDER_CHARACTERS],
        match.version.text,
        match.version.sort_key,
        Verdict.REFUSED if problem else Verdict.WAITING,
        "bad_address" if problem else "",
        problem,
    )


@lru_cache(maxsize=4096)
def _problem_of(module: str) -> str:
    if len(module) > MAX_MODULE_CHARACTERS:
        return f"Its module would have {len(module)} characters, expected at most {MAX_MODULE_CHARACTERS}."
    try:
        rulebook.check_module(module)
    except Invalid as problem:
        return f"Its rule leads to the module {module}: {problem}. {problem.hint}".strip()
    return ""


def _unfitting(name: str, rules: Sequence[CheckedRule]) -> TagMatch:
    reason = patterns.why_not((rule.tag for rule in rules), name)
    code = "not_semver" if reason.startswith("It matches ") else "no_match" if rules else "no_rules"
    return _ignored(code, reason)


def _ignored(code: str, reason: str) -> TagMatch:
    return TagMatch(verdict=Verdict.IGNORED, code=code, reason=reason)
