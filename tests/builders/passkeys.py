"""An authenticator in software: it makes ES256 passkeys and answers as `navigator.credentials` does."""

import os
from dataclasses import dataclass, field
from hashlib import sha256

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.cose import ES256
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    Aaguid,
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

HOST = "testserver"
FLAG = AuthenticatorData.FLAG


@dataclass
class Passkey:
    """`verifies`: it asks for a PIN or a finger. `origin` is where it believes to be."""

    verifies: bool = True
    origin: str = f"https://{HOST}"
    host: str = HOST
    number: bytes = field(default_factory=lambda: os.urandom(16))
    user: str = ""
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def created(self, options):
        """The answer to registration options."""
        self.user = options["user"]["id"]
        data = AttestedCredentialData.create(
            Aaguid.NONE, self.number, ES256.from_cryptography_key(self.key.public_key())
        )
        about = self._about(FLAG.AT, data)
        said = self._client_data(CollectedClientData.TYPE.CREATE, options)
        response = {"attestationObject": websafe_encode(AttestationObject.create("none", about, {}))}
        return self._answer(response | {"clientDataJSON": websafe_encode(said)})

    def got(self, options, **wrong):
        """The answer to request options."""
        about, said = self._about(FLAG(0)), self._client_data(CollectedClientData.TYPE.GET, options)
        signature = self.key.sign(about + said.hash, ec.ECDSA(hashes.SHA256()))
        response = {
            "authenticatorData": websafe_encode(about),
            "clientDataJSON": websafe_encode(said),
            "signature": websafe_encode(signature),
            "userHandle": self.user,
        }
        return self._answer(response | wrong)

    def _about(self, flags, data=b""):
        flags |= FLAG.UP | (FLAG.UV if self.verifies else FLAG(0))
        return AuthenticatorData.create(sha256(self.host.encode()).digest(), flags, 0, data)

    def _client_data(self, kind, options):
        return CollectedClientData.create(kind, websafe_decode(options["challenge"]), self.origin)

    def _answer(self, response):
        number = websafe_encode(self.number)
        return {"id": number, "rawId": number, "type": "public-key", "response": response, "clientExtensionResults": {}}
