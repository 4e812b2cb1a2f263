"""Django's settings, in the order of Django's settings index. docs/configuration explains every variable."""

import sys
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import global_settings
from django.core.exceptions import ImproperlyConfigured

from apps.lib.settings_values.outgoing import Outgoing
from registry_site import env, generic_classes, identity_providers, logs, rooms, version

generic_classes.allow_arguments()

# --- Where things are -----------------------------------------------------------------------------

BASE_DIR, VERSION = env.CHECKOUT, version.current(env.CHECKOUT)  # as it is now: a checkout may have another one later
DATA_DIR = env.folder("LARDER_DATA_DIR", BASE_DIR / "var")
LISTEN_HOST, LISTEN_PORT = env.address("LARDER_LISTEN", env.LISTEN)
TLS = env.text("LARDER_TLS", env.TLS)
_scheme = "http" if TLS == "off" else "https"
_reachable = env.reachable(LISTEN_HOST, LISTEN_PORT)
PUBLIC_URL = env.public_url("LARDER_PUBLIC_URL", f"{_scheme}://{_reachable}")
PUBLIC_HOST = urlsplit(PUBLIC_URL).netloc
# Under which hosts the addresses of our providers are written: what the network mirror answers for (D22).
HOSTNAMES = env.hostnames("LARDER_HOSTNAMES", urlsplit(PUBLIC_URL).hostname or "")
# Whether the lines that a start prints are pasted outside of a container, where its files are not.
IN_CONTAINER = env.switch("LARDER_IN_CONTAINER")
WEB_PROCESSES = env.number("LARDER_WEB_PROCESSES", 1, least=1, most=256)
INSTANCES = env.number("LARDER_INSTANCES", 1, least=1)  # hosts; dangerous combinations are system checks
WEB_THREADS = env.number("LARDER_WEB_THREADS", 16, least=1, most=512)
UPLOAD_THREADS = env.number("LARDER_UPLOAD_THREADS", 16, least=1, most=512)
# A client that is silent for so long, or slower than this for so long, is cut off; see request_body.py and serving.py.
CLIENT_TIMEOUT = env.number("LARDER_CLIENT_TIMEOUT_SECONDS", 30, least=1, most=600)
CLIENT_MIN_RATE = env.number("LARDER_CLIENT_MIN_RATE", 4096)  # bytes a second
# A stop: /readyz says so for a while, then running requests may end.
STOP_NOTICE = env.number("LARDER_STOP_NOTICE_SECONDS", 0, most=3600)
DRAIN_TIME = env.number("LARDER_DRAIN_SECONDS", 6, least=1, most=3600)
WORKER_POOL = env.choice("LARDER_WORKER_POOL", "threads", "prefork")
WORKER_CONCURRENCY = env.number("LARDER_WORKER_CONCURRENCY", 2, least=1, most=256)

# --- Core -----------------------------------------------------------------------------------------

DEBUG = env.switch("LARDER_DEBUG")
# The first line signs; what older ones signed still counts. Empty until the first run has made the file.
SECRET_KEY, *SECRET_KEY_FALLBACKS = env.secrets_from("LARDER_SECRET_KEY_FILE", DATA_DIR / "secret_key") or [""]
# Clients look for the registry under the host of the addresses that Larder prints.
ALLOWED_HOSTS = sorted({urlsplit(PUBLIC_URL).hostname or "", "localhost", "127.0.0.1", "[::1]", *HOSTNAMES})
CSRF_TRUSTED_ORIGINS = sorted(
    {PUBLIC_URL, f"{_scheme}://localhost:{LISTEN_PORT}", f"{_scheme}://127.0.0.1:{LISTEN_PORT}"}
)
ROOT_URLCONF = "registry_site.urls"
WSGI_APPLICATION = "registry_site.wsgi.application"
APPEND_SLASH = False
USE_X_FORWARDED_HOST = False

ROOMS_LEFT_OUT = rooms.left_out(env.words("LARDER_WITHOUT"))
INSTALLED_APPS = [
    "registry_site",
    "apps.audit.room.Audit",
    "apps.blobs.room.Blobs",
    "apps.jobs.room.Jobs",
    "apps.accounts.room.Accounts",
    "apps.artifacts.room.Artifacts",
    "apps.releases.room.Releases",
    "apps.signing.room.Signing",
    "apps.modules.room.Modules",
    "apps.providers.room.Providers",
    "apps.notify.room.Notify",
    "apps.provenance.room.Provenance",
    "apps.protocol",
    "apps.api.room.Api",
    "apps.portal",
    *rooms.installed(),
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "rest_framework",
    "registry_site.apps.LarderAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]

TRACES = env.traces()
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",  # round all others: some answer themselves
    *(["registry_site.monitoring.tracing.RequestSpans"] if TRACES else []),
    "registry_site.server.middleware.RequestIdMiddleware",
    "registry_site.server.compression.CompressionMiddleware",
    "registry_site.server.middleware.SecurityHeadersMiddleware",
    "registry_site.server.middleware.AllowedHosts",
    "registry_site.server.middleware.ReadableRequests",
    *rooms.middleware(ROOMS_LEFT_OUT),
    "registry_site.server.middleware.SmallBodies",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "registry_site.server.middleware.SecondFactorRequired",
    "registry_site.server.middleware.PagesNeedSignIn",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "apps.portal.frame.errors.RegistryErrorsMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "apps.portal.frame.context.frame",
            ],
        },
    },
]

# --- Database -------------------------------------------------------------------------------------

SQLITE_OPTIONS = {
    # Measured: with Django's defaults four writers saw 1,326 "database is locked" in six seconds, with these none.
    # FULL, not NORMAL: an upload that was acknowledged survives a power cut (D20).
    "timeout": 20,
    "transaction_mode": "IMMEDIATE",
    # By default each connection, so each thread, keeps 2 MB of the file. The kernel has it once for all.
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA cache_size=-256",
}
# No `options` at the start of a session, which PgBouncer refuses: time-outs belong to the role (startup/bootstrap.py).
POSTGRES_OPTIONS = {
    # A server that hangs must not hold a request: metadata fails within five seconds, and clients ask again.
    "connect_timeout": 4,
    "tcp_user_timeout": 4000,
}
DATABASE_URL = env.url(
    "LARDER_DATABASE_URL", f"sqlite:///{DATA_DIR / 'db.sqlite3'}", "sqlite", "postgres", "postgresql"
)
# Per process. At least two: a migration locks out other hosts through a second connection.
DATABASE_CONNECTIONS = env.number("LARDER_DATABASE_CONNECTIONS", 10, least=2, most=1000)
DATABASES: dict[str, dict[str, Any]] = {"default": env.database("LARDER_DATABASE_URL", DATABASE_URL)}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"] |= {"OPTIONS": SQLITE_OPTIONS, "CONN_MAX_AGE": 600}
else:
    DATABASES["default"] |= {
        "ENGINE": "registry_site.postgres",
        "OPTIONS": POSTGRES_OPTIONS
        | DATABASES["default"].get("OPTIONS", {})
        | {"pool": {"max_size": DATABASE_CONNECTIONS}},
        # A request returns its connection to the pool, and the next one checks it first.
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        # A cursor of the server outlives its transaction: a pooler gives the next one another session.
        "DISABLE_SERVER_SIDE_CURSORS": True,
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Cache ----------------------------------------------------------------------------------------

CACHE_URL = env.url("LARDER_CACHE_URL", "", "redis", "rediss")
if CACHE_URL:
    CACHES = {"default": {"BACKEND": "registry_site.backends.redis_cache.RedisOrMemoryCache", "LOCATION": CACHE_URL}}
elif WEB_PROCESSES > 1 or INSTANCES > 1:
    # Rate limits count in the cache: with several processes they need one that all of them see.
    CACHES = {"default": {"BACKEND": "registry_site.backends.cache.DatabaseCounters", "LOCATION": "larder_cache"}}
else:
    CACHES = {"default": {"BACKEND": "registry_site.backends.cache.MemoryCounters", "LOCATION": "larder"}}

# --- Time and language ----------------------------------------------------------------------------

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
FORMAT_MODULE_PATH = "registry_site.formats"

# --- People ---------------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "portal:home"
LOGOUT_REDIRECT_URL = "portal:home"
ACCOUNT_ADAPTER = "apps.accounts.identity.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
EMAIL_TIMEOUT = 10  # a mail server that hangs is given up
ACCOUNT_LOGOUT_REDIRECT_URL = "/"
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_SESSION_COOKIE_AGE = SESSION_COOKIE_AGE = 12 * 60 * 60
ACCOUNT_FORMS = {
    "login": "apps.portal.people.sign_in.LoginForm",
    "change_password": "apps.portal.people.sign_in.PasswordChangeForm",
}
ACCOUNT_PRESERVE_USERNAME_CASING = False
ACCOUNT_RATE_LIMITS = False  # allauth's own, which several processes count by guess: RATES replaces them
# Sign-on at identity providers (docs/sign-on.md). Flows, limits and checks: apps/accounts/identity/sign_on.
IDENTITY_PROVIDERS = identity_providers.read(*rooms.identity_providers(ROOMS_LEFT_OUT))
APPROVALS_NEED_TWO_PEOPLE = env.switch("LARDER_APPROVALS_NEED_TWO_PEOPLE")  # of what comes from Git or CI
SOCIALACCOUNT_ADAPTER = "apps.accounts.people.sign_on.SignOnAdapter"
# Whose passwords sign in: everybody's, those of staff, nobody's.
LOCAL_SIGN_IN = env.choice("LARDER_LOCAL_SIGN_IN", "on", "staff", "off")
if LOCAL_SIGN_IN != "on" and not IDENTITY_PROVIDERS:
    raise ImproperlyConfigured(
        f"LARDER_LOCAL_SIGN_IN={LOCAL_SIGN_IN} needs LARDER_SIGN_ON_FILE: otherwise no one could sign in."
    )
# Who needs one: nobody, staff, they and the owners of namespaces, everybody (apps/accounts/identity/second_factor.py).
SECOND_FACTOR = env.choice("LARDER_SECOND_FACTOR", "off", "staff", "owners", "everyone")
MFA_ADAPTER = "apps.accounts.identity.second_factor.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_FORMS = {
    "authenticate": "apps.portal.people.second_factor.CodeForm",
    "authenticate_webauthn": "apps.portal.people.passkey_forms.PasskeyForm",
    "login_webauthn": "apps.portal.people.passkey_forms.PasskeySignInForm",
}
MFA_RATE_LIMITS = False  # RATES again
MFA_TOTP_ISSUER = "Larder"
MFA_TOTP_TOLERANCE = 1  # clocks of phones; `CodeForm` refuses a code that was used for as long as it is valid
NAMESPACE_CREATION = env.choice("LARDER_NAMESPACE_CREATION", "members", "staff")
RESERVED_NAMES = frozenset(env.words("LARDER_RESERVED_NAMES"))
CONFIRMATION_LIFETIME = timedelta(minutes=env.lifetime("confirmation_minutes", 120, least=10, most=1440))
DEMO = env.choice("LARDER_DEMO", "module", "off", "on")  # what the first run publishes; on: a public demonstration
INVITATION_LIFETIME = timedelta(days=env.lifetime("invitation_days", 7, least=1, most=90))
TOKEN_LIFETIME, MANAGE_TOKEN_LIFETIME, MANAGE_TOKEN_MAX_LIFETIME = env.token_lifetimes()

# --- Security -------------------------------------------------------------------------------------

_secure = PUBLIC_URL.startswith("https:")
SESSION_ENGINE = "apps.accounts.identity.hashed_sessions"
SESSION_COOKIE_NAME = "__Host-larder-session" if _secure else "larder-session"
SESSION_COOKIE_SECURE = _secure
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_SAVE_EVERY_REQUEST = False
CSRF_COOKIE_NAME = "__Host-larder-csrf" if _secure else "larder-csrf"
CSRF_COOKIE_SECURE = _secure
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "apps.portal.frame.errors.csrf_failed"
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
# With no-referrer Chromium sends `Origin: null` and every form fails (D18).
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_HSTS_SECONDS = env.number("LARDER_HSTS_SECONDS", 0)
# registry_site/server/forwarded.py reads the headers of proxies before Django does: Django itself trusts none.
TRUSTED_PROXIES = env.trusted_proxies("LARDER_TRUSTED_PROXIES")
BEHIND_PROXY = env.switch("LARDER_BEHIND_PROXY")
# The location of a proxy that sends the files of the storage folder.
ACCEL_REDIRECT = env.location("LARDER_ACCEL_REDIRECT")
RATES = env.rates()  # by the groups of apps/accounts/access/throttling.py, which counts them; None is no limit
SECURE_CSP = {  # in the shape of Django 6, read by our own middleware until then
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "font-src": ["'self'"],
    "connect-src": ["'self'"],
    "form-action": ["'self'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'none'"],
    "object-src": ["'none'"],
}

# --- Bytes ----------------------------------------------------------------------------------------

STORAGE_URL = env.storage_url("LARDER_STORAGE_URL", f"file://{DATA_DIR / 'blobs'}")
BACKUP_URL, BACKUP_RECIPIENT_FILE, BACKUP_KEEP = env.backups(STORAGE_URL)
STORAGE_AZURE_KEY = env.azure_key("LARDER_AZURE_KEY_FILE", STORAGE_URL, BACKUP_URL)
# Object storage sends archives and blobs itself, by links that last for so long; 0: Larder sends them.
STORAGE_REDIRECT_SECONDS = env.number("LARDER_STORAGE_REDIRECT_SECONDS", 0, most=900)
STORAGE_DIRECT_UPLOADS = env.switch("LARDER_STORAGE_DIRECT_UPLOADS")
ARCHIVE_URL_LIFETIME = timedelta(minutes=env.lifetime("archive_url_minutes", 15, least=15, most=60 * 24))
PUBLIC_ARCHIVE_MAX_AGE = env.lifetime("public_archive_max_age", 300)
MODULE_ARCHIVE_MAX_BYTES = env.limit("module_archive_max_bytes", 100 * 1024 * 1024, least=1)
MODULE_UNPACKED_MAX_BYTES = env.limit("module_unpacked_max_bytes", 512 * 1024 * 1024, least=1)
PROVIDER_PACKAGE_MAX_BYTES = env.limit("provider_package_max_bytes", 500 * 1024 * 1024, least=1)
PROVIDER_UNPACKED_MAX_BYTES = env.limit("provider_unpacked_max_bytes", 2 * 1024 * 1024 * 1024, least=1)
OCI_BLOB_MAX_BYTES = env.limit("oci_blob_max_bytes", 2_000_000_000, least=1)
PROVIDER_DOCS_MAX_BYTES = env.limit("provider_docs_max_bytes", 20 * 1024 * 1024, least=1)
SUMS_MAX_BYTES = env.limit("sums_max_bytes", 1_000_000, least=1024)
OCI_MANIFEST_MAX_BYTES = env.limit("oci_manifest_max_bytes", 4 * 1024 * 1024, least=1024)
OCI_SPARSE_INDEXES = env.switch("LARDER_OCI_SPARSE_INDEXES")
ARCHIVE_MAX_ENTRIES = env.limit("archive_max_entries", 65_000, least=1, most=65_000)
NAMESPACE_MAX_BYTES = env.limit("namespace_max_bytes", 0)
NAMESPACE_MAX_VERSIONS = env.limit("namespace_max_versions", 0)
DATA_UPLOAD_MAX_MEMORY_SIZE = JSON_MAX_BYTES = env.limit("json_max_bytes", 1024 * 1024, least=1024)
# A pushed version is answered when it is published: clients wait longer than this, proxies often do not.
OCI_PUBLISH_WAIT = timedelta(seconds=env.number("LARDER_OCI_PUBLISH_SECONDS", 30, least=1, most=300))
# Longer than any push lasts: what it brought first is named by a manifest only at its end.
OCI_GRACE = timedelta(hours=env.lifetime("oci_grace_hours", 24, least=1, most=24 * 3650))
FILE_UPLOAD_HANDLERS = ["apps.portal.frame.form_files.RefuseFiles"]  # nothing is uploaded through forms (D2)

# --- Signing --------------------------------------------------------------------------------------

# Only where it is. Its content is read by apps/signing/vault.py, in workers alone (D12).
SIGNING_KEK_FILE = env.folder("LARDER_SIGNING_KEK_FILE", DATA_DIR / "signing" / "kek")
# The file (None) and key services: the first encrypts, all of them open.
SIGNING_KEKS = env.kek_addresses("LARDER_SIGNING_KEK_URL", rooms.key_addresses(ROOMS_LEFT_OUT))

# --- Protocol -------------------------------------------------------------------------------------
READY_BYTES = env.number("LARDER_READY_BYTES", 32 * 1024 * 1024)  # of one process: answers that are repeated (D16)
SERVE_STALE_SECONDS = env.number("LARDER_SERVE_STALE_SECONDS", 0, least=0, most=3600)  # while the database is away
# OpenTofu 1.12 and later; off by default, because such a download must arrive within ten seconds (D7).
USE_REGISTRY_CREDENTIALS = env.switch("LARDER_USE_REGISTRY_CREDENTIALS")
# OpenTofu 1.12 and later; off by default: it records nothing more for a registry of one's own, and only checks more.
PROVIDER_PACKAGES = env.switch("LARDER_PROVIDER_PACKAGES")

# --- Work -----------------------------------------------------------------------------------------

BROKER_URL = env.url("LARDER_BROKER_URL", "filesystem://", "filesystem", "redis", "rediss", "redis+socket")
# What the workers of this host do: a worker that does not sign asks one that does.
WORKER_QUEUES = env.some_of("LARDER_WORKER_QUEUES", "check", "sign", "notify", "upstream")
JOB_LEASE = timedelta(seconds=env.number("LARDER_JOB_LEASE_SECONDS", 30, least=5, most=24 * 3600))
# A third of the lease: two renewals may fail before another worker takes over.
JOB_RENEWAL = JOB_LEASE / 3
JOB_RING_AGAIN = JOB_LEASE
JOB_ATTEMPTS = env.limit("job_attempts", 5, least=1)
JOB_LAPSES = env.limit("job_lapses", 25, least=1)  # one job may kill each worker: by the memory that it takes
REAPER_INTERVAL = JOB_LEASE / 3
# Staged bytes are swept after 24 hours: an answer must come before.
HELD_LIFETIME = timedelta(hours=env.lifetime("held_hours", 12, least=1, most=20))
UPLOAD_TICKET_LIFETIME = timedelta(minutes=env.lifetime("upload_ticket_minutes", 60, least=1, most=60 * 24 * 365))
# What ended is pruned every night; the audit is the evidence of a year and more.
AUDIT_LIFETIME = timedelta(days=env.lifetime("audit_days", 400, least=400, most=36_500))
AUDIT_HEAD_URL = env.file_or_webhook("LARDER_AUDIT_HEAD_URL")
JOB_LIFETIME = timedelta(days=env.lifetime("job_days", 90, least=1, most=36_500))
WEBHOOKS = Outgoing(**env.way_out("webhooks", allow="LARDER_WEBHOOK_ALLOW"))
UPSTREAM_WAIT_SECONDS = env.number("LARDER_UPSTREAM_WAIT_SECONDS", 55, least=1, most=600)  # of a client, for a fetch
globals().update(rooms.settings(env))
SITE_NAME = env.text("LARDER_SITE_NAME", "Larder")
SITE_LOGO = env.text("LARDER_SITE_LOGO")  # startup/checks.py looks into it
SMTP = env.smtp("LARDER_SMTP_URL")  # None prints mails
MAIL_FROM = env.sender("LARDER_MAIL_FROM", SITE_NAME, f"larder@{PUBLIC_HOST.partition(':')[0]}")
NOTIFY_LIFETIME = timedelta(days=env.lifetime("notify_days", 30, least=1, most=3650))
# Tests kill a worker before or after a step by naming it here; empty in every other life.
CRASH_AT = env.words("LARDER_CRASH_AT")

# --- Static files ---------------------------------------------------------------------------------

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_FINDERS = [*global_settings.STATICFILES_FINDERS, "registry_site.server.bundles.Bundles"]
STORAGES = {"staticfiles": {"BACKEND": "registry_site.server.bundles.HashedStaticFiles"}}
WHITENOISE_INDEX_FILE = False

# --- REST framework -------------------------------------------------------------------------------

# Each edge sets its own renderer, negotiation and error handler on its base view (D1): nothing is global but "no".
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.AllowAny"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": [],
    "UNAUTHENTICATED_USER": None,
}

# What `make schema` writes, /api/v1/schema answers and /api/docs shows.
OPENAPI_FILE = BASE_DIR / "static/api/openapi.json"

# --- Metrics --------------------------------------------------------------------------------------

# Who may read /metrics from elsewhere: one token a line, so that a new one can be added before the old one goes.
METRICS_TOKENS = env.secrets_in("LARDER_METRICS_TOKEN_FILE")
# Where a worker without a web process beside it answers /metrics.
METRICS_LISTEN = env.address("LARDER_METRICS_LISTEN", "") if env.text("LARDER_METRICS_LISTEN") else None

# --- Logging --------------------------------------------------------------------------------------

LOG_FORMAT = env.choice("LARDER_LOG_FORMAT", *(("console", "json") if sys.stderr.isatty() else ("json", "console")))
# A terminal shows warnings; files and collectors get the access lines as well.
_usual = ("WARNING", "INFO") if LOG_FORMAT == "console" else ("INFO", "WARNING")
LOG_LEVEL = env.choice("LARDER_LOG_LEVEL", *_usual, "DEBUG", "ERROR")
LOGGING_CONFIG = None
logs.configure(level=LOG_LEVEL, as_json=LOG_FORMAT == "json")

env.check_keys()
if WORKER_POOL == "prefork" and BROKER_URL.startswith("filesystem"):
    raise ImproperlyConfigured("LARDER_WORKER_POOL=prefork needs LARDER_BROKER_URL=redis://…, found filesystem://")
