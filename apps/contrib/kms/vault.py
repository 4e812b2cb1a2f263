"""Vault's transit engine, and OpenBao's: two requests of its HTTP API, and a third to sign in with Kubernetes.

`context` is for keys with `derived`, `associated_data` binds with all others (Vault 1.13; older ones ignore it).
"""

import base64
import binascii
import http.client
import json
import socket
import ssl
from contextlib import suppress
from pathlib import Path
from threading import Event, Timer
from typing import Any
from urllib.parse import urlsplit

from apps.contrib.kms.addresses import VaultAddress
from apps.lib.process import outside
from apps.signing.kms import Context, KeyServiceAway, NotUnwrapped

CONNECT_SECONDS = 5.0
SECONDS = 10.0  # for the whole exchange after that
MAX_ANSWER_BYTES = 65_536
OK, BAD_REQUEST, FORBIDDEN, NOT_FOUND = 200, 400, 403, 404
# Mounted into each pod.
POD_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


class VaultService:
    def __init__(self, address: VaultAddress) -> None:
        self._address = address
        self._signed_in = ""
        self.id, self.kind, self.title = address.id, address.kind, address.title

    def wrap(self, data_key: bytes, context: Context) -> bytes:
        return self._ask("encrypt", "ciphertext", context, plaintext=_base64(data_key)).encode()

    def unwrap(self, wrapped: bytes, context: Context) -> bytes:
        found = self._ask("decrypt", "plaintext", context, ciphertext=wrapped.decode("ascii", "replace"))
        try:
            return base64.b64decode(found, validate=True)
        except binascii.Error:
            raise self._away("returned an unexpected answer") from None

    def _ask(self, verb: str, wanted: str, context: Context, **fields: str) -> str:
        bound = _base64(json.dumps(dict(context), sort_keys=True).encode())
        body = {**fields, "context": bound, "associated_data": bound}
        path = f"{self._address.mount}/{verb}/{self._address.key}"
        status, answer = self._post(path, body, self._token())
        if status == FORBIDDEN and self._address.kubernetes_role:
            self._signed_in = ""  # the token has ended
            status, answer = self._post(path, body, self._token())
        found = (answer.get("data") or {}).get(wanted)
        if status == OK and isinstance(found, str):
            return found
        said = " ".join(str(line) for line in answer.get("errors") or ())[:200]
        # A version that is too new or too old can be there again.
        is_foreign = "invalid ciphertext" in said and "version is too" not in said
        is_foreign = is_foreign or "message authentication failed" in said
        if verb == "decrypt" and status == BAD_REQUEST and is_foreign:
            raise NotUnwrapped
        raise self._away(f"answered {status}{f' ({said})' if said else ''} to {verb}", status)

    def _token(self) -> str:
        """Return the token of the file, which an agent may exchange at any time, or that of a sign-in."""
        if not self._address.kubernetes_role:
            return self._read(Path(self._address.token_file), "token_file")
        if not self._signed_in:
            jwt = self._read(POD_TOKEN, "kubernetes_role")
            path = f"auth/{self._address.kubernetes_mount}/login"
            status, answer = self._post(path, {"role": self._address.kubernetes_role, "jwt": jwt}, "")
            token = (answer.get("auth") or {}).get("client_token")
            if status != OK or not isinstance(token, str):
                raise self._away(f"answered {status} to the sign-in with Kubernetes", FORBIDDEN)
            self._signed_in = token
        return self._signed_in

    def _read(self, path: Path, option: str) -> str:
        try:
            found = path.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise KeyServiceAway(
                f"The token for {self.title} cannot be read: {getattr(error, 'strerror', 'no text')}.",
                hint=f"Check the option {option} of LARDER_SIGNING_KEK_URL on this worker.",
            ) from None
        if not found.isascii() or not found.isprintable() or not found:
            raise KeyServiceAway(
                f"The file with the token for {self.title} is empty, or has more than one line.",
                hint=f"Check the option {option} of LARDER_SIGNING_KEK_URL on this worker.",
            )
        return found

    def _post(self, path: str, body: dict[str, str], token: str) -> tuple[int, dict[str, Any]]:
        """Return the status and the JSON of the answer, empty if it has none. Raises KeyServiceAway."""
        headers = {"Content-Type": "application/json", "X-Vault-Request": "true"}
        headers |= {"X-Vault-Token": token} if token else {}
        headers |= {"X-Vault-Namespace": self._address.namespace} if self._address.namespace else {}
        cut = Event()
        outside.give_back()
        try:
            connection = self._connection()
            connection.connect()
            connection.sock.settimeout(SECONDS)
            # The time-out of a socket begins again with every byte.
            timer = Timer(SECONDS, _cut, [connection.sock, cut])
            timer.daemon = True
            timer.start()
            try:
                connection.request("POST", f"/v1/{path}", json.dumps(body), headers)
                with connection.getresponse() as answer:
                    status, text = answer.status, answer.read(MAX_ANSWER_BYTES)
                if cut.is_set():
                    raise TimeoutError  # http.client takes the end of the connection for that of the answer
            finally:
                timer.cancel()
                connection.close()
        except ssl.SSLCertVerificationError as error:
            raise self._away(f"has a certificate that is not trusted: {error.verify_message}") from None
        except (OSError, http.client.HTTPException) as error:
            is_late = cut.is_set() or isinstance(error, TimeoutError)
            raise self._away(f"gave no answer ({'too late' if is_late else type(error).__name__})") from None
        try:
            document = json.loads(text)
        except ValueError:
            document = {}
        return status, document if isinstance(document, dict) else {}

    def _connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self._address.server)
        host, port = parts.hostname or "", parts.port
        if parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=CONNECT_SECONDS)
        trusted = ssl.create_default_context(cafile=self._address.ca or None)
        return http.client.HTTPSConnection(host, port, timeout=CONNECT_SECONDS, context=trusted)

    def _away(self, what: str, status: int = 0) -> KeyServiceAway:
        if status == FORBIDDEN:
            where = self._address
            hint = (
                "Check the token or role of LARDER_SIGNING_KEK_URL: its policy needs `update` on "
                f"{where.mount}/encrypt/{where.key} and {where.mount}/decrypt/{where.key}."
            )
        elif status in (BAD_REQUEST, NOT_FOUND):
            hint = "Check the mount, the key and the namespace of LARDER_SIGNING_KEK_URL, and the versions of the key."
        else:
            hint = (
                "Larder will retry. If the error persists, check whether Vault is sealed, and LARDER_SIGNING_KEK_URL."
            )
        return KeyServiceAway(f"{self.title} {what}.", hint=hint)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _cut(sock: socket.socket, cut: Event) -> None:
    cut.set()
    with suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not that of SSLSocket, which another thread reads
