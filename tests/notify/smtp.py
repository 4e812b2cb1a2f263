"""A mail server on loopback: enough of SMTP for Django's client, and it keeps what it got."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage


@dataclass
class Mailbox:
    port: int = 0
    refuses: str = ""  # what it says to a recipient, such as "550 no such user"
    received: list[tuple[str, EmailMessage]] = field(default_factory=list)  # with the recipient

    @property
    def settings(self) -> dict[str, object]:
        """Those of `smtp://127.0.0.1:port?starttls=off`."""
        return {
            "host": "127.0.0.1",
            "port": self.port,
            "username": "",
            "password": "",
            "use_ssl": False,
            "use_tls": False,
        }


@contextmanager
def listening() -> Iterator[Mailbox]:
    box = Mailbox()

    class Handler(socketserver.StreamRequestHandler):
        timeout = 30

        def say(self, text: str) -> None:
            self.wfile.write(text.encode() + b"\r\n")

        def handle(self) -> None:
            self.say("220 ready")
            recipient = ""
            while line := self.rfile.readline().decode().strip():
                verb = line[:4].upper()
                if verb == "RCPT":
                    recipient = line.partition("<")[2].partition(">")[0]
                    self.say(box.refuses or "250 fine")
                elif verb == "DATA":
                    self.say("354 go on")
                    lines = []
                    while (text := self.rfile.readline()) != b".\r\n":
                        lines.append(text.removeprefix(b".") if text.startswith(b"..") else text)
                    message = message_from_bytes(b"".join(lines), policy=policy.default)
                    assert isinstance(message, EmailMessage)
                    box.received.append((recipient, message))
                    self.say("250 kept")
                elif verb == "QUIT":
                    self.say("221 bye")
                    return
                else:
                    self.say("250 fine")

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        box.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield box
        server.shutdown()
        thread.join()
