"""A key that backups are encrypted to, as an operator makes one."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.builders.keys import gpg_home


@dataclass(frozen=True)
class Recipient:
    public: Path
    private: Path


def recipient(folder: Path, name: str = "operator", usage: str = "default") -> Recipient:
    """Its files in the folder. `usage`: of gpg's --quick-gen-key; `sign` makes one that cannot encrypt."""
    algorithm = "future-default" if usage == "default" else "ed25519"
    found = Recipient(folder / f"{name}.asc", folder / f"{name}-private.asc")
    with gpg_home() as home:
        gpg = ["gpg", "--homedir", str(home), "--batch", "--passphrase", ""]
        subprocess.run([*gpg, "--quick-gen-key", name, algorithm, usage], check=True, capture_output=True)
        for what, file in (("--export", found.public), ("--export-secret-keys", found.private)):
            file.write_bytes(subprocess.run([*gpg, "--armor", what], check=True, capture_output=True).stdout)
    return found
