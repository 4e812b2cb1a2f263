"""Refuse files in ordinary forms: views that accept files read the body themselves (D2).

Without an upload handler Django's multipart parser would read the whole body at once.
"""

from typing import Any

from django.core.files.uploadhandler import FileUploadHandler
from django.http.multipartparser import MultiPartParserError


class FileRefused(MultiPartParserError):
    """Django answers it with its handler for bad requests."""

    hint = "Send the form without it."


class RefuseFiles(FileUploadHandler):
    def new_file(self, *_arguments: Any, **_keywords: Any) -> None:
        raise FileRefused("This form takes no file.")

    def receive_data_chunk(self, _raw_data: bytes, _start: int) -> None:
        return None

    def file_complete(self, _file_size: int) -> None:
        return None
