"""The program of a package: the one file that clients would start."""

from collections.abc import Iterable, Iterator

from apps.lib.archives.rules.outcome import Refusal, shown
from apps.lib.errors import Reason
from apps.lib.packages.heads import NoProgram, read_head

_NAMED = 5


def is_program_name(name: str, provider_type: str) -> bool:
    """Whether clients would start a file of that name: they check no more than this."""
    rest = name.removeprefix(f"terraform-provider-{provider_type}")
    return rest != name and (not rest or rest[0] in "_.") and "/" not in rest


def only_program(names: Iterable[str], provider_type: str) -> str:
    """The program among the names of all files. Raises Refusal unless there is exactly one."""
    names = list(names)
    found = sorted(name for name in names if is_program_name(name, provider_type))
    if len(found) == 1:
        return found[0]
    raise Refusal([_several(found) if found else _none(names, provider_type)])


def _several(found: list[str]) -> Reason:
    named = ", ".join(map(shown, found[:_NAMED]))
    hint = "Include only the program: clients start the first match by name, even if it is the wrong file."
    return Reason("package_two_executables", f"{len(found)} files named like the program ({named})", "one", hint)


def _none(names: list[str], provider_type: str) -> Reason:
    expected = f"one file named terraform-provider-{provider_type}, or that followed by _v1.2.0"
    deeper = [name for name in names if is_program_name(name.rpartition("/")[2], provider_type)]
    if deeper:
        folder, _, file = deeper[0].rpartition("/")
        hint = f"Pack it from inside its folder: cd {shown(folder)} && zip ../package.zip {shown(file)}."
        return Reason(
            "package_in_folder", "the program in a folder", "it at the root of the zip", hint, shown(deeper[0])
        )
    top = sorted(name for name in names if "/" not in name) or sorted(names)
    top.sort(key=lambda name: not name.lower().startswith("terraform-provider-"))  # near misses first
    listed = ", ".join(map(shown, top[:_NAMED])) + (" and more" if len(top) > _NAMED else "")
    found = f"no program (only {listed})" if listed else "an empty zip"
    hint = "Pack the program that go build made, under the provider type's own name."
    return Reason("package_no_executable", found, expected, hint)


def wrong_head(head: bytes, name: str, os: str, arch: str) -> Iterator[Reason]:
    """The reason why a file with this head is no program for the platform, if there is one."""
    expected = f"a program for {os}_{arch}, as the zip's name says"
    build = f"Build it with GOOS={os} GOARCH={arch}"
    try:
        program = read_head(head)
    except NoProgram as other:
        yield Reason("package_not_a_program", shown(str(other)), expected, f"{build}.", shown(name))
        return
    if not program.runs_on(os, arch):
        hint = f"{build}, or rename the zip to match it."
        yield Reason("package_wrong_platform", program.words, expected, hint, shown(name))
