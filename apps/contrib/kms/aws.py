"""AWS KMS, with the usual credentials of AWS clients: variables, a profile, a web identity, the role of the host."""

from functools import cached_property
from typing import Any

from boto3.session import Session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from apps.contrib.kms.addresses import AwsAddress
from apps.lib.process import outside
from apps.signing.kms import Context, KeyServiceAway, NotUnwrapped

READ_SECONDS = 4.0

_DENIED = "Allow this worker's role or user kms:Encrypt and kms:Decrypt with the key of LARDER_SIGNING_KEK_URL."
_NO_KEY = "Check the key and the region of LARDER_SIGNING_KEK_URL, and that the key is enabled."
_HINTS = {
    "AccessDeniedException": _DENIED,
    "UnrecognizedClientException": _DENIED,
    "InvalidSignatureException": _DENIED,
    "ExpiredTokenException": _DENIED,
    "IncorrectKeyException": "It was wrapped with another key: the alias may have moved. Add the older key to "
    "LARDER_SIGNING_KEK_URL.",
    "NotFoundException": _NO_KEY,
    "DisabledException": _NO_KEY,
    "KMSInvalidStateException": _NO_KEY,
    "InvalidArnException": _NO_KEY,
}


class AwsService:
    def __init__(self, address: AwsAddress) -> None:
        self._address = address
        self.id, self.kind, self.title = address.id, address.kind, address.title

    @cached_property
    def _client(self) -> Any:
        # A session for this client alone: the default one is not for several threads.
        return Session(profile_name=self._address.profile or None).client(
            "kms",
            region_name=self._address.region or None,
            endpoint_url=self._address.endpoint or None,
            # botocore waits a minute for each answer, and then tries again four times.
            config=Config(
                connect_timeout=2,
                read_timeout=READ_SECONDS,
                retries={"mode": "standard", "total_max_attempts": 2},
            ),
        )

    def wrap(self, data_key: bytes, context: Context) -> bytes:
        return bytes(self._ask("encrypt", Plaintext=data_key, EncryptionContext=context)["CiphertextBlob"])

    def unwrap(self, wrapped: bytes, context: Context) -> bytes:
        # The key comes from the settings: a row cannot choose one of somebody else's account.
        return bytes(self._ask("decrypt", CiphertextBlob=wrapped, EncryptionContext=context)["Plaintext"])

    def _ask(self, operation: str, **parameters: Any) -> dict[str, Any]:
        outside.give_back()
        try:
            answer: dict[str, Any] = getattr(self._client, operation)(KeyId=self._address.key, **parameters)
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code == "InvalidCiphertextException":
                raise NotUnwrapped from None
            hint = _HINTS.get(code, "Larder will retry; see the log of the service.")
            raise KeyServiceAway(f"{self.title} refused to {operation}: {code}.", hint=hint) from None
        except (BotoCoreError, ValueError, OSError) as error:
            # Its type alone: texts name addresses and files of credentials.
            raise KeyServiceAway(
                f"{self.title} did not answer: {type(error).__name__}.",
                hint="Larder will retry. If the error persists, check the credentials of this worker, its way to the "
                "service, and LARDER_SIGNING_KEK_URL (key, region, endpoint).",
            ) from None
        return answer
