"""The settings of the test run: a throw-away data folder that no power cut has to spare, one of two databases."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

from registry_site import env
from tests import postgres

# Whatever the machine says: without compiled files each process that tests start compiles all of Larder again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
_data = Path(tempfile.mkdtemp(prefix="larder-tests-"))
atexit.register(shutil.rmtree, _data, ignore_errors=True)
(_data / "secret_key").write_text("only-for-tests-" + "x" * 50)
# Assigned and not preset: the workers of xdist inherit this process's environment, and each needs its own.
os.environ["LARDER_DATA_DIR"] = str(_data)
env.preset(LARDER_LOG_LEVEL="ERROR", LARDER_LOG_FORMAT="json")

from registry_site.settings import *  # noqa: E402, F403  # the values above must be there first
from registry_site.settings import DATABASES, RATES  # noqa: E402

os.fsync = lambda fd: None  # noqa: ARG005  # tests/powercut.py counts its calls

# SQLite, or a real PostgreSQL that the first process starts and the xdist workers inherit.
TEST_DATABASE = env.choice("LARDER_TEST_DATABASE", "sqlite", "postgres")
if TEST_DATABASE == "postgres" and postgres.programs():
    env.preset(LARDER_TEST_DATABASE_URL=env.text("LARDER_TEST_DATABASE_URL") or postgres.start())
    DATABASES["default"] = env.database("LARDER_TEST_DATABASE_URL", env.text("LARDER_TEST_DATABASE_URL"))

# As os.fsync above: a commit waits for no disk.
if "init_command" in DATABASES["default"].get("OPTIONS", {}):
    _options = DATABASES["default"]["OPTIONS"]
    _init = _options["init_command"].replace("synchronous=FULL", "synchronous=OFF")
    DATABASES["default"] = {**DATABASES["default"], "OPTIONS": {**_options, "init_command": _init}}

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
RATES = dict.fromkeys(RATES)  # none
MCP = True
STORAGES = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
WHITENOISE_AUTOREFRESH = True
