"""`manage.py import FOLDER`: the other half of `manage.py export`. Tokens stay valid: nothing has changed since."""

from apps.accounts.access import epoch
from registry_site.management.commands.restore import Command as Restore


class Command(Restore):
    help = "Fill an empty, stopped Larder from an export: other databases, storage, hosts. People sign in again."
    purpose = "export"

    def settle(self) -> None:
        epoch.check()
