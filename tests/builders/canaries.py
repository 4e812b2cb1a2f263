"""Made-up secrets of every shape that Larder hands out or is given."""

import base64

TOKEN = "lrd_u_" + "a1B2" * 9 + "cAnAry"
REGISTRY_TOKEN = "lrr_MTI:1tQcAn:aRy-Zz9_0123456789abcdefABCDEF"
TICKET = "cAnArY-t1cket_0123456789abcdefghijklmnopqrs"
INVITATION = "cAnArY-1nvite_0123456789abcdefghijklmnopqrs"
CAPABILITY = "t3x7k0.cAnArYcApAb1l1ty_0123456789-ABCDEFGHIJKLMN"
SESSION = "canary0session0123456789abcdefgh"
CSRF = "cAnArYcsrf0123456789abcdefgHIJKL"
PASSWORD = "cAnArY-of-a-mine-77"
CODE = "cAnArY-c0de-31"
BASIC = base64.b64encode(f"x:{TOKEN}".encode()).decode()
ADMIN_PASSWORD = "ca9a47-0ca9a4-70ca9a-470ca9"
ARMOUR_BODY = "lQWGBGcAnArY0123456789abcdefABCDEF"
_FRAME = "-----{} PGP PRIVATE KEY BLOCK-----"
ARMOUR = f"{_FRAME.format('BEGIN')}\nComment: a key\n\n{ARMOUR_BODY}\n=aBcD\n{_FRAME.format('END')}"
JSON_WEB_TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJjYW5hcnkiOjF9.cAnArY-s1gnature"

# {what it is: (how it stands in a text, the secret in it)}
SHOWN = {
    "api-token": (f"Bearer {TOKEN}", TOKEN),
    "api-token-alone": (f"unknown token {TOKEN}.", TOKEN),
    "registry-token": (f"Bearer {REGISTRY_TOKEN}", REGISTRY_TOKEN),
    "json-web-token": (f"exchange of {JSON_WEB_TOKEN} failed", JSON_WEB_TOKEN),
    "basic": (f"Authorization: Basic {BASIC}", BASIC),
    "basic-without-its-header": (f"('Basic {BASIC}',)", BASIC),
    "header-in-a-dict": (f"{{'Authorization': 'Digest {PASSWORD}', 'Accept': '*/*'}}", PASSWORD),
    "capability": (f"GET /archives/{CAPABILITY}/ab12/vpc-aws-1.2.0.zip failed", CAPABILITY),
    "capability-encoded": (f"next=%2Farchives%2F{CAPABILITY}%2Fab%2Fvpc.zip", CAPABILITY),
    "ticket": (f"PUT /uploads/{TICKET}", TICKET),
    "ticket-in-a-url": (f"https://127.0.0.1:8443/uploads/{TICKET}?x=1", TICKET),
    "invitation": (f"<WSGIRequest: POST '/invitations/{INVITATION}'>", INVITATION),
    "invitation-encoded": (f"/account/login/?next=%2Finvitations%2F{INVITATION}", INVITATION),
    "invitation-encoded-twice": (f"?next=%252Finvitations%252F{INVITATION}%253Fx", INVITATION),
    "session": (f"Cookie: theme=dark; __Host-larder-session={SESSION}; a=b", SESSION),
    "session-alone": (f"larder-session={SESSION}", SESSION),
    "cookies-in-a-dict": (f"{{'HTTP_COOKIE': 'larder-csrf={CSRF}; a=b', 'HTTP_HOST': 'x'}}", CSRF),
    "csrf-header": (f"X-CSRFToken: {CSRF}", CSRF),
    "csrf-field": (f"csrfmiddlewaretoken={CSRF}&login=bob", CSRF),
    "form": (f"<QueryDict: {{'login': ['bob'], 'password1': ['{PASSWORD} and \"more\"']}}>", PASSWORD),
    "form-with-quotes": (f"{{'password': 'it\\'s \"{PASSWORD}'}}", PASSWORD),
    "json": (f'{{"token": "a\\"{PASSWORD}", "user": "bob"}}', PASSWORD),
    "query-token": (f"/tokens?token={PASSWORD}&page=2", PASSWORD),
    "query-password": (f"/x?q=1&password={PASSWORD}", PASSWORD),
    "query-code": (f"/login?code={CODE}&state=1", CODE),
    "query-code-encoded": (f"next=%2Fcallback%3Fcode%3D{CODE}%26state%3D1", CODE),
    "signed-url": (f"https://s3.example/b?X-Amz-Signature={CODE}&X-Amz-Expires=900", CODE),
    "database-url": (f"postgres://larder:{PASSWORD}@db.example:5432/larder", PASSWORD),
    "broker-url": (f"Cannot connect to redis://:{PASSWORD}@cache.example:6379/0", PASSWORD),
    "storage-url": (f"s3://AKIAX:{PASSWORD}@bucket", PASSWORD),
    "connection-string": (f"host=db user=larder password={PASSWORD} dbname=larder", PASSWORD),
    "admin-password": (f"Sign in as admin with the password {ADMIN_PASSWORD}", ADMIN_PASSWORD),
    "armour": (f"cannot read {ARMOUR} today", ARMOUR_BODY),
    "armour-cut-off": (ARMOUR[:90], ARMOUR[50:90]),
    "armour-in-a-repr": (repr(ARMOUR), ARMOUR_BODY),
    "pem": (f"-----BEGIN EC PRIVATE KEY-----\n{ARMOUR_BODY}\n-----END EC PRIVATE KEY-----", ARMOUR_BODY),
}
EVERY_ONE = (
    *(TOKEN, REGISTRY_TOKEN, TICKET, INVITATION, CAPABILITY, SESSION, CSRF, PASSWORD, CODE, BASIC),
    *(ADMIN_PASSWORD, ARMOUR_BODY, JSON_WEB_TOKEN),
)
