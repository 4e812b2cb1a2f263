"""Search terms of identifiers and sentences, and the words of queries, which match their beginnings."""

import re
import unicodedata
from collections.abc import Iterable, Iterator

LONGEST = 64  # bytes of a term
MAX_WORDS = 8
MIN_PROSE, MAX_PROSE = 3, 32  # letters of an indexed word of a README

_INSIDE = re.compile(r"(?<=[^\W_])[\W_]+(?=[^\W_])")
_SIMPLE = re.compile(r"[^\W_]+")
_EDGE = re.compile(r"^[\W_]+|[\W_]+$")


def terms_of(text: str) -> Iterator[str]:
    """Each chunk of the text, and the rest after each of its separators: `nat_gateway_id`, `gateway_id`, `id`.

    So the beginning of any part is the beginning of a term, and `nat_gateway` matches `enable_nat_gateway`.
    """
    for chunk in _folded(text).split():
        whole = _EDGE.sub("", chunk)
        if whole:
            yield cut(whole)
            for gap in _INSIDE.finditer(whole):
                yield cut(whole[gap.end() :])


def words_of(query: str) -> list[str]:
    """The words that every hit must match: `acme/vpc` is two. Limited to MAX_WORDS."""
    chunks = (_EDGE.sub("", chunk) for chunk in _folded(query).replace("/", " ").split())
    return list(dict.fromkeys(cut(chunk) for chunk in chunks if chunk))[:MAX_WORDS]


def spellings(word: str) -> list[str]:
    """The word as it is, with `-` and with `_`: names treat them as equal (D10)."""
    return list(dict.fromkeys((word, word.replace("-", "_"), word.replace("_", "-"))))


def simple_words(text: str) -> Iterator[str]:
    """The parts without separators: `enable_nat_gateway` is three."""
    return (cut(word) for word in _SIMPLE.findall(_folded(text)))


def prose_words(text: str) -> Iterator[str]:
    """The words of a README, without addresses, numbers and what is too short to search for."""
    for chunk in _folded(text).split():
        if "://" not in chunk:
            yield from (
                word for word in _SIMPLE.findall(chunk) if MIN_PROSE <= len(word) <= MAX_PROSE and word.isalpha()
            )


def cut(text: str) -> str:
    """Cut to the length of a term, at a character boundary."""
    return text.encode()[:LONGEST].decode(errors="ignore")


def begins_a_part(word: str, text: str) -> bool:
    """The word is at the start of a part of the text: `nat` in `enable_nat_gateway`, not `at`."""
    return any(place == 0 or not text[place - 1].isalnum() for place in _places(word, text))


def marked(text: str, words: Iterable[str]) -> list[tuple[str, bool]]:
    """Split the text into pieces, each with True for a hit."""
    spelt = [spelling for word in words for spelling in spellings(word)]
    if not spelt:
        return [(text, False)]
    longest_first = sorted(spelt, key=lambda word: (-len(word), word))
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
