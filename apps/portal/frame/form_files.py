"""A file in an ordinary form is refused: what takes files reads its body itself (D2).

Without any handler Django's multipart parser would read the whole body in one piece.
"""

from typing import Any

from django.core.files.uploadhandler import FileUploadHandler
from django.http.multipartparser import MultiPartParserError


class FileRefused(MultiPartParserError):
    """Django answers it with its handler for bad requests."""

    mend = "Send the form without it."


class RefuseFiles(FileUploadHandler):
    def new_file(self, *_arguments: Any, **_keywords: Any) -> None:
        raise FileRefused("This form takes no file.")

    def receive_data_chunk(self, _raw_data: bytes, _start: int) -> None:
        return None

    def file_complete(self, _file_size: int) -> None:
        return None
