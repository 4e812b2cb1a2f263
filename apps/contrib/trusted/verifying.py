"""Check an id token's signature by its issuer's keys, and its times. Raises ExchangeRefused and KeysUnavailable."""

import hashlib
from datetime import datetime, timedelta
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from apps.accounts.identity.trusted.declarations import Vendor
from apps.contrib.trusted import keys
from apps.contrib.trusted.issuers import Issuer
from apps.contrib.trusted.reading import Read
from apps.contrib.trusted.refusals import ExchangeRefused, SignatureRefused, shown

# By the type of their keys. With HMAC a public key would be the secret, and `none` is no signature.
ALGORITHMS = {"RS256": "RSA", "ES256": "EC", "EdDSA": "OKP"}
LEEWAY = timedelta(seconds=60)
# A used token is remembered until its end, so that must not be too far away.
LONGEST_LIFE = timedelta(days=7)
LONGEST_JTI = 255
FURTHEST = 10**11  # seconds: the year 5138. No comparison holds for NaN
RSA_BITS = range(2048, 8193)


def check_signature(token: Read, issuer: Issuer) -> None:
    """Raises SignatureRefused or KeysUnavailable."""
    algorithm = token.header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise SignatureRefused("alg", f"found {shown(algorithm)}, expected one of {', '.join(ALGORITHMS)}.")
    for extension in ("crit", "b64"):
        if extension in token.header:
            raise SignatureRefused(extension, "found an extension of the signature, expected none.")
    kid = token.header.get("kid")
    if kid is not None and not (isinstance(kid, str) and kid):
        raise SignatureRefused("kid", f"found {shown(kid)}, expected the id of a key as text.")
    found = keys.keys_for(issuer, kid=kid, key_type=ALGORITHMS[algorithm], algorithm=algorithm)
    if len(found) != 1:
        raise SignatureRefused("kid", _unclear(issuer, kid, algorithm, len(found)))
    key = _public_key(found[0], algorithm)
    if key is None:
        raise SignatureRefused("alg", f"the key of {issuer.url} is not one for {algorithm}.")
    try:
        jwt.PyJWS().decode(token.text, key=key, algorithms=[algorithm])
    except (jwt.PyJWTError, ValueError, TypeError):
        raise SignatureRefused("signature", f"it was not made by the key of {issuer.url}.") from None


def check_times(claims: dict[str, Any], *, now: datetime) -> None:
    """Raises ExchangeRefused."""
    moment, leeway = now.timestamp(), LEEWAY.total_seconds()
    expires, issued = _seconds(claims, "exp"), _seconds(claims, "iat")
    if moment >= expires + leeway:
        raise ExchangeRefused("exp", f"it expired {moment - expires:.0f} s ago.", hint="Ask for a new id token.")
    if expires > moment + LONGEST_LIFE.total_seconds():
        raise ExchangeRefused("exp", f"it is valid for more than {LONGEST_LIFE.days} days.")
    if issued > moment + leeway:
        raise ExchangeRefused("iat", f"it was issued {issued - moment:.0f} s in the future.", hint="Check the clocks.")
    if "nbf" in claims and (begins := _seconds(claims, "nbf")) > moment + leeway:
        raise ExchangeRefused("nbf", f"it becomes valid in {begins - moment:.0f} s.", hint="Check the clocks.")


def use_once(token: Read, vendor: Vendor) -> tuple[str, float]:
    """Return what to remember of the token, and until when. Raises ExchangeRefused."""
    jti = token.claims.get("jti")
    if jti is None and not vendor.has_jti:
        # Not the signature, which others can change without making it wrong.
        jti = f"signed {hashlib.sha256(token.signed.encode()).hexdigest()}"
    if not isinstance(jti, str) or not 0 < len(jti) <= LONGEST_JTI:
        raise ExchangeRefused("jti", f"found {shown(jti)}, expected text of 1 to {LONGEST_JTI} characters.")
    digest = hashlib.sha256(f"{token.issuer}\n{jti}".encode(errors="replace")).hexdigest()
    return digest, _seconds(token.claims, "exp")


def _seconds(claims: dict[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not -FURTHEST < value < FURTHEST:
        raise ExchangeRefused(name, f"found {shown(value)}, expected a time in seconds.")
    return float(value)


def _public_key(found: keys.Key, algorithm: str) -> Any:
    """Return the key as PyJWT takes it; None for a private one (of another class), a weak one, or another curve."""
    try:
        key = jwt.PyJWK(found, algorithm=algorithm).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    is_right = {
        "RS256": lambda: isinstance(key, RSAPublicKey) and key.key_size in RSA_BITS,
        "ES256": lambda: isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1),
        "EdDSA": lambda: isinstance(key, Ed25519PublicKey),
    }
    return key if is_right[algorithm]() else None


def _unclear(issuer: Issuer, kid: str | None, algorithm: str, count: int) -> str:
    if kid is None:
        return f"it is missing, and {issuer.url} has {count} keys for {algorithm}, expected 1."
    return f"{issuer.url} has {count or 'no'} keys {shown(kid)} for {algorithm}, expected 1."
