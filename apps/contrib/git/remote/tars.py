"""Tars that git archive wrote, made into one."""

from collections.abc import Iterator

_BLOCK = 512
_SIZE_BEGIN, _SIZE_END = 124, 136
_KIND_AT = 156
_FOLDER, _GLOBAL = ord("5"), ord("g")
_END = bytes(2 * _BLOCK)
_RECORD = 20 * _BLOCK


def joined(tars: Iterator[Iterator[bytes]]) -> Iterator[bytes]:
    """Yield the members of all, then one end. Each tar is read when it comes.

    All but the first begin with the folder that they are in, which the one before has already: it is left out, since
    the pipeline refuses archives that have a name twice.
    """
    written = 0
    for number, pieces in enumerate(tars):
        for piece in _members(pieces, without_root=number > 0):
            written += len(piece)
            yield piece
    yield _END + bytes(-(written + len(_END)) % _RECORD)


def _members(pieces: Iterator[bytes], *, without_root: bool) -> Iterator[bytes]:
    """Yield the blocks of a tar up to its end. The rest is read as well: only then git says whether it failed."""
    buffer, left, is_over, is_left_out = bytearray(), 0, False, False
    for piece in pieces:
        if is_over:
            continue
        buffer += piece
        end = 0  # of what is known to be members
        while not is_over:
            if left:
                step = min(left, len(buffer) - end)
                left -= step
                if is_left_out:
                    del buffer[end : end + step]
                else:
                    end += step
            if left or len(buffer) - end < _BLOCK:
                break
            header = buffer[end : end + _BLOCK]
            if not any(header):
                is_over = True
            else:
                left = _BLOCK + _content_bytes(header)
                # Its long name, if it has one, is a member before it.
                is_left_out = without_root and header[_KIND_AT] != _GLOBAL
                without_root = without_root and header[_KIND_AT] != _FOLDER
        yield bytes(buffer[:end])
        del buffer[:end]


def _content_bytes(header: bytearray) -> int:
    size = int(bytes(header[_SIZE_BEGIN:_SIZE_END]).strip(b" \0") or b"0", 8)
    return -(-size // _BLOCK) * _BLOCK
