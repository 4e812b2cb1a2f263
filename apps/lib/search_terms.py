"""Words for searching: how identifiers and sentences become terms, and what somebody typed becomes their beginnings."""

import re
import unicodedata
from collections.abc import Iterable, Iterator

LONGEST = 64  # bytes of a term
MAX_WORDS = 8

_INSIDE = re.compile(r"(?<=[^\W_])[\W_]+(?=[^\W_])")
_EDGE = re.compile(r"^[\W_]+|[\W_]+$")


def terms_of(text: str) -> Iterator[str]:
    """Each chunk of the text, and what follows each of its separators: `nat_gateway_id`, `gateway_id`, `id`.

    The beginning of any part is then the beginning of a term, and `nat_gateway` finds `enable_nat_gateway` as well.
    """
    for chunk in _folded(text).split():
        whole = _EDGE.sub("", chunk)
        if whole:
            yield cut(whole)
            for gap in _INSIDE.finditer(whole):
                yield cut(whole[gap.end() :])


def words_of(query: str) -> list[str]:
    """What every hit must hold: `acme/vpc` is two words. More than eight help nobody."""
    chunks = (_EDGE.sub("", chunk) for chunk in _folded(query).replace("/", " ").split())
    return list(dict.fromkeys(cut(chunk) for chunk in chunks if chunk))[:MAX_WORDS]


def spellings(word: str) -> list[str]:
    """A word with its `-` and `_` as they are, and as each of the two: they are equal in names (D10)."""
    return list(dict.fromkeys((word, word.replace("-", "_"), word.replace("_", "-"))))


def cut(text: str) -> str:
    """The beginning that fits into a term, without half a character at its end."""
    return text.encode()[:LONGEST].decode(errors="ignore")


def begins_a_part(word: str, text: str) -> bool:
    """Whether the word stands in the text where a part of it begins: `nat` in `enable_nat_gateway`, `at` not."""
    return any(place == 0 or not text[place - 1].isalnum() for place in _places(word, text))


def marked(text: str, words: Iterable[str]) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it is a hit: what a page marks. Pieces join to the text again."""
    found = [spelling for word in words for spelling in spellings(word)]
    if not found:
        return [(text, False)]
    longest_first = sorted(found, key=lambda word: (-len(word), word))
    pattern = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, longest_first))})", re.IGNORECASE)
    pieces, behind = [], 0
    for hit in pattern.finditer(text):
        pieces += [(text[behind : hit.start()], False), (hit[0], True)]
        behind = hit.end()
    return [piece for piece in [*pieces, (text[behind:], False)] if piece[0]]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text.replace("\0", " ")).casefold()


def _places(word: str, text: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)
