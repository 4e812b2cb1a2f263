"""`python -m tests.s3_process PORT [--no-conditions] [--log FILE]`: an S3 server, moto's.

`--no-conditions`: it ignores If-None-Match, as some compatible servers do. `--log`: a JSON line for each request.
"""

import argparse
import json
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]
WRITING = threading.Lock()


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None: ...


def noted(application: Wsgi, log: Path) -> Wsgi:
    def call(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        line = {
            "method": environ["REQUEST_METHOD"],
            "path": environ["PATH_INFO"],
            "query": environ["QUERY_STRING"],
            "authorization": environ.get("HTTP_AUTHORIZATION", "").split(" ")[0],
            "agent": environ.get("HTTP_USER_AGENT", ""),
        }
        with WRITING, log.open("a") as file:
            file.write(json.dumps(line) + "\n")
        return application(environ, start_response)

    return call


def without_conditions(application: Wsgi) -> Wsgi:
    def call(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ.pop("HTTP_IF_NONE_MATCH", None)
        return application(environ, start_response)

    return call


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--no-conditions", action="store_true")
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    application: Wsgi = DomainDispatcherApplication(create_backend_app)
    if options.no_conditions:
        application = without_conditions(application)
    if options.log:
        application = noted(application, options.log)
    make_server("127.0.0.1", options.port, application, threaded=True, request_handler=Quiet).serve_forever()


if __name__ == "__main__":
    main()
