"""The page types of the portal: for each route its pages, and the routes that are none. Those of rooms lie there."""

from collections.abc import Callable
from typing import Any

from tests import rooms
from tests.browser.catalogue import SPACE, Shelf
from tests.house.scenario import QUERIES

ROOT = {"namespace": SPACE, "name": "network", "system": "aws"}
V2 = {**ROOT, "version": "2.0.0"}
POOR = {"namespace": SPACE, "name": "poor", "system": "null"}
HOSTILE = {"namespace": SPACE, "name": "hostile", "system": "null", "version": "1.0.0"}
LABEL = {"namespace": SPACE, "name": "label", "system": "null"}
JAILED = {"namespace": SPACE, "name": "jailed", "system": "null"}
GUARDED = {"namespace": SPACE, "name": "guarded", "system": "null"}
GUARDED2 = {**GUARDED, "version": "2.2.0"}
DNS = {"namespace": SPACE, "type": "dns"}
DNS1 = {**DNS, "version": "1.0.0"}
DNS2 = {**DNS, "version": "1.1.0"}
RECORD = {"kind": "resources", "slug": "record"}
KEY = {"namespace": SPACE, "fingerprint": lambda shelf: shelf.fingerprint}
MACHINE = {"team": "shelvers", "account_id": lambda shelf: shelf.machine[0]}
MACHINES = {**MACHINE, "service_token_id": lambda shelf: shelf.machine[1]}

ROOMS = rooms.modules("page_types")

Filled = Callable[[Shelf], Any]
Keywords = dict[str, Any]


def of(shelved: str) -> Filled:
    return lambda shelf: shelf.releases[shelved]


def tabs(*extra: Keywords) -> list[tuple[Keywords, str]]:
    """A tab of a full module, of one that has nothing, and of one that says something nasty everywhere."""
    return [(V2, ""), ({**POOR, "version": "1.0.0"}, ""), (HOSTILE, ""), *((one, "") for one in extra)]


# Route -> the pages of that type: keyword arguments, and a query where it shows something else.
PAGES: dict[str, list[tuple[Keywords, str]]] = {
    "home": [({}, "")],
    "how-to": [({}, "")],
    "help": [({}, ""), ({}, "?q=token"), ({}, "?q=nothing-is-called-so")],
    "help-page": [({"page": name}, "") for name in ("using", "version-guard")],
    "api-docs": [({}, "")],
    "api-docs-group": [({"group": "modules"}, "")],
    "account": [({}, "")],
    "own-activity": [({}, "")],
    "second-factor": [({}, "")],
    "recovery-codes": [({}, "")],
    "tokens": [({}, "")],
    "login-authorize": [({}, QUERIES["portal:login-authorize", "GET"])],
    "token-created": [({"token_id": lambda shelf: shelf.token_id}, "")],
    "token-revoke": [({"token_id": lambda shelf: shelf.token_id}, "")],
    "invitations": [({}, "")],
    "publish": [({}, ""), ({}, f"?namespace={SPACE}&name=network&system=aws")],
    "provider-publish": [({}, ""), ({}, f"?namespace={SPACE}&type=dns&version=1.2.0")],
    "mine": [({}, "")],
    "own-releases": [({}, ""), ({}, "?state=running")],
    "approvals": [({}, "")],
    "release": [
        ({"public_id": of("network/aws 2.0.0")}, ""),
        ({"public_id": of("network/aws 1.1.0")}, ""),
        ({"public_id": of("refused/null 1.0.0")}, ""),
        *(({"public_id": of(f"guarded/null 2.{minor}.0")}, "") for minor in range(4)),
        *(({"public_id": of(name)}, "") for name in ("network/aws 3.0.0", "hostile/null 1.1.0")),
        ({"public_id": lambda shelf: shelf.held}, ""),
        ({"public_id": lambda shelf: shelf.draft}, ""),
    ],
    "namespace-new": [({}, "")],
    "namespace": [({"name": SPACE}, "")],
    "namespace-change": [({"namespace": SPACE}, "")],
    "namespace-rules": [({"namespace": SPACE}, "")],
    "person": [({"person": "bob"}, "")],
    "namespace-usage": [({"namespace": SPACE}, "")],
    "namespace-activity": [({"namespace": SPACE}, "")],
    "namespace-members": [({"namespace": SPACE}, "")],
    "namespace-withdraw": [({"namespace": SPACE, "grant_id": lambda shelf: shelf.grant_id}, "")],
    "namespace-connections": [({"namespace": SPACE}, "")],
    "namespace-transfer": [({"namespace": SPACE}, "")],
    "namespace-delete": [({"namespace": SPACE}, "")],
    "mail": [({}, "")],
    "mail-unsubscribe": [({"mail_token": lambda shelf: shelf.mail[0]}, "")],
    "mail-confirm": [({"address_token": lambda shelf: shelf.mail[1]}, "")],
    "watch": [({"address": SPACE}, ""), ({"address": f"{SPACE}/network/aws"}, "")],
    "keys": [({"namespace": SPACE}, "")],
    "key": [(KEY, "")],
    "key-add": [({"namespace": SPACE}, "")],
    "key-create": [({"namespace": SPACE}, "")],
    "key-retire": [(KEY, "")],
    "key-revoke": [(KEY, "")],
    "providers": [({}, ""), ({}, "?q=nothing-is-called-so")],
    "provider": [(DNS, "")],
    "provider-version": [(DNS1, "")],
    "provider-platforms": [(DNS1, "")],
    "provider-docs": [(DNS1, ""), (DNS2, "?q=record"), ({**DNS1, "type": "bare"}, "")],
    "provider-docs-page": [({**DNS1, **RECORD}, ""), ({**DNS2, "kind": "guides", "slug": "hostile"}, "")],
    "provider-docs-archive": [(DNS1, ""), ({**DNS1, "type": "bare"}, "")],
    "provider-origin": [(DNS1, ""), (DNS2, "")],
    "provider-versions": [(DNS, "")],
    "namespaces": [({}, "")],
    "teams": [({}, "")],
    "team-new": [({}, "")],
    "team": [({"team": "shelvers"}, "")],
    "team-change": [({"team": "shelvers"}, "")],
    "team-delete": [({"team": "shelvers"}, "")],
    "service-account-new": [({"team": "shelvers"}, "")],
    "service-account": [(MACHINE, "")],
    "service-account-manage": [(MACHINE, "")],
    "service-account-delete": [(MACHINE, "")],
    "service-token-created": [(MACHINES, "")],
    "service-token-revoke": [(MACHINES, "")],
    "team-remove": [({"team": "shelvers", "membership_id": lambda shelf: shelf.membership_id}, "")],
    "modules": [({}, ""), ({}, "?q=subnet&system=aws&yanked=1"), ({}, "?q=nothing-is-called-so")],
    "search": [({}, "?q=network"), ({}, "?q=subent"), ({}, "?q=network&in=inputs"), ({}, "?q=%3Cb%3E%22%27"), ({}, "")],
    "module": [(ROOT, ""), (POOR, ""), (LABEL, "")],
    "module-settings": [(ROOT, "")],
    "provider-settings": [(DNS, "")],
    "provider-lifecycle": [(DNS1, ""), (DNS1, "?act=quarantine")],
    "provider-purge": [(DNS1, "")],
    "module-downloads": [(ROOT, ""), (POOR, "")],
    "provider-downloads": [(DNS, "")],
    "module-outdated": [(ROOT, ""), (JAILED, "?days=90"), (LABEL, "")],
    "provider-outdated": [(DNS, "")],
    "module-users": [(ROOT, ""), (LABEL, "")],
    "provider-users": [(DNS, "")],
    "module-notify": [(ROOT, ""), (LABEL, "")],
    "provider-notify": [(DNS, "")],
    "module-versions": [(ROOT, ""), (JAILED, "")],
    "module-compare": [
        ({**ROOT, "numbers": "1.0.0...2.0.0"}, ""),
        ({**ROOT, "numbers": "2.0.0...2.0.0"}, ""),
        ({**GUARDED, "numbers": "1.0.0...2.2.0"}, ""),
    ],
    "module-compare-files": [({**ROOT, "numbers": "1.0.0...2.0.0"}, ""), ({**ROOT, "numbers": "2.0.0...2.0.0"}, "")],
    "provider-compare": [({**DNS, "numbers": "1.0.0...1.1.0"}, ""), ({**DNS, "numbers": "1.0.0...1.0.0"}, "")],
    "module-version": tabs(
        {**ROOT, "version": "1.0.0"}, {**ROOT, "version": "1.1.0"}, {**JAILED, "version": "1.0.0"}, GUARDED2
    ),
    "module-inputs": tabs(),
    "module-outputs": tabs(),
    "module-resources": tabs(),
    "module-dependencies": tabs(),
    "module-submodules": tabs(),
    "module-submodule": [({**V2, "unit": "subnets"}, ""), ({**HOSTILE, "unit": "inner"}, "")],
    "module-examples": tabs(),
    "module-example": [({**V2, "unit": "complete"}, ""), ({**HOSTILE, "unit": "first"}, "")],
    "module-folder": [({**HOSTILE, "unit": "elsewhere"}, "")],
    "module-configuration": [({**V2, "unit": "complete"}, ""), ({**HOSTILE, "unit": "first"}, "")],
    "module-files": tabs(),
    "module-origin": tabs({**JAILED, "version": "1.0.0"}),
    "module-file": [
        ({**V2, "path": "variables.tf"}, ""),
        ({**V2, "path": "README.md"}, ""),
        ({**V2, "path": "docs/diagram.png"}, ""),
        ({**V2, "path": "modules"}, ""),
        ({**HOSTILE, "path": "hostile.tf"}, ""),
    ],
    "module-lifecycle": [
        (V2, ""),
        (V2, "?act=yank"),
        ({**ROOT, "version": "1.1.0"}, ""),
        ({**JAILED, "version": "1.0.0"}, ""),
    ],
    "module-purge": [(V2, "")],
    "lifecycle-several": [({"act": "yank", "releases": lambda shelf: shelf.several}, "?next=/modules")],
    **{route: pages for room in ROOMS for route, pages in getattr(room, "PAGES", {}).items()},
}
# What those see who read here and publish nowhere: other pages, or other parts of them.
READER_PAGES: dict[str, list[tuple[Keywords, str]]] = {
    "home": [({}, "")],
    "how-to": [({}, "")],
    "namespace": [({"name": SPACE}, "")],
    "namespace-access": [({"namespace": SPACE}, "")],
    "module": [(ROOT, "")],
    "provider": [(DNS, "")],
}
# Routes that are no pages: fragments, bytes, redirects, one-time links, and what only takes a POST.
NO_PAGES = {
    "mail-address",
    "module-compare-form",
    "namespace-connection-confirm",
    "provider-compare-form",
    "module-input",
    "module-output",
    "publish-script",
    "publish-script-pinned",
    "site-logo",
    "theme",
    "passkey-add",
    "passkey-registration",
    "passkey-request",
    "passkey-remove",
    "resume",
    "sessions-end",
    "recovery-codes-renew",
    "second-factor-off",
    "sign-on",
    "identity-disconnect",
    "break-glass",
    "invitation",
    "invitation-created",
    "invitation-revoke",
    "upload",
    "release-status",
    "release-answer",
    "release-approve",
    "release-cancel",
    "release-decline",
    "release-file",
    "release-file-remove",
    "release-files",
    "release-hand-in",
    "team-manager",
    "module-archive",
    "module-raw",
    "keys-status",
    "provider-package",
    "provider-signature",
    "provider-lifecycle-signature",
    "provider-sums",
    "provider-verify",
    *(route for room in ROOMS for route in room.NO_PAGES),
}
