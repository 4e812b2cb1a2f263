"""bin/advisories.py [LOCK...]: known vulnerabilities of the pinned packages, asked of PyPI and of OSV by pip-audit.

Exits with 0 if every package was checked and none has one, with 1 if one has, and with 2 if none was found but not
everything was checked: a source that does not answer, or that does not know a version that is known to be vulnerable,
says nothing by its silence. `make` exits with 2 in both cases, so CI calls this script itself.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
LOCKS = ("requirements.txt", "requirements-dev.txt", "requirements-docs.txt")
SOURCES = ("pypi", "osv")
# CVE-2019-10906 and more: a source that lists nothing for it does not know what it says.
KNOWN_BAD = "jinja2==2.10"
CLEAN, VULNERABLE, NOT_CHECKED = 0, 1, 2


def ask(source: str, requirements: Path) -> list[dict[str, object]] | str:
    """Return what pip-audit found, by package; or why it could not."""
    command = ["-m", "pip_audit", "-r", str(requirements), "-s", source, "-f", "json", "--disable-pip", "--no-deps"]
    done = subprocess.run(  # noqa: S603  # our own interpreter and code
        [sys.executable, *command, "--progress-spinner", "off", "--timeout", "20"],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        found: list[dict[str, object]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return (done.stderr.strip().splitlines() or ["no answer"])[-1]
    return found


def answering() -> str | None:
    """The first source that lists what is known of KNOWN_BAD."""
    with tempfile.TemporaryDirectory() as folder:
        control = Path(folder, "control.txt")
        control.write_text(f"{KNOWN_BAD}\n")
        for source in SOURCES:
            found = ask(source, control)
            if isinstance(found, str):
                print(f"{source} does not answer: {found[:200]}")
            elif not any(package.get("vulns") for package in found):
                print(f"{source} answers, and knows nothing of {KNOWN_BAD}: {found[0].get('skip_reason', 'no entry')}")
            else:
                return source
    return None


def main() -> int:
    source = answering()
    if source is None:
        print("NOT CHECKED: no source of advisories answers here, so nothing is known about the pinned packages.")
        return NOT_CHECKED
    is_vulnerable, is_complete = False, True
    for lock in sys.argv[1:] or LOCKS:
        found = ask(source, CHECKOUT / lock)
        if isinstance(found, str):
            print(f"NOT CHECKED: {source} stopped answering at {lock}: {found}")
            is_complete = False
            continue
        skipped = [package["name"] for package in found if "skip_reason" in package]
        bad = [package for package in found if package.get("vulns")]
        checked = len(found) - len(skipped)
        print(f"{lock}: {checked} packages checked with {source}, {len(bad)} with known vulnerabilities")
        for package in bad:
            print(f"  {package['name']} {package['version']}: {json.dumps(package['vulns'])[:500]}")
        if skipped:
            print(f"  NOT CHECKED, unknown to {source}: {', '.join(map(str, skipped))}")
        is_vulnerable = is_vulnerable or bool(bad)
        is_complete = is_complete and not skipped
    return VULNERABLE if is_vulnerable else CLEAN if is_complete else NOT_CHECKED


if __name__ == "__main__":
    sys.exit(main())
