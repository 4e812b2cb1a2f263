"""Tars that git archive wrote, made into one."""

from collections.abc import Iterator

_BLOCK = 512
_SIZE_BEGIN, _SIZE_END = 124, 136
_END = bytes(2 * _BLOCK)
_RECORD = 20 * _BLOCK


def joined(tars: Iterator[Iterator[bytes]]) -> Iterator[bytes]:
    """Yield the members of all, then one end. Each tar is read when it comes."""
    written = 0
    for pieces in tars:
        for piece in _members(pieces):
            written += len(piece)
            yield piece
    yield _END + bytes(-(written + len(_END)) % _RECORD)


def _members(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a tar up to its end. The rest is read as well: only then git says whether it failed."""
    buffer, left, is_over = bytearray(), 0, False
    for piece in pieces:
        if is_over:
            continue
        buffer += piece
        end = 0  # of what is known to be members
        while not is_over:
            if left:
                step = min(left, len(buffer) - end)
                end, left = end + step, left - step
            if left or len(buffer) - end < _BLOCK:
                break
            header = buffer[end : end + _BLOCK]
            if not any(header):
                is_over = True
            else:
                left = _BLOCK + _content_bytes(header)
        yield bytes(buffer[:end])
        del buffer[:end]


def _content_bytes(header: bytearray) -> int:
    size = int(bytes(header[_SIZE_BEGIN:_SIZE_END]).strip(b" \0") or b"0", 8)
    return -(-size // _BLOCK) * _BLOCK
