"""The words in use that come closest to a misspelled one, among what the reader may see."""

from collections.abc import Collection, Iterable

from django.db.models import Count, Exists, OuterRef

from apps.lib.text.search_terms import simple_words
from apps.lib.text.spelling import distance, edits_in, grams, shared_grams
from apps.releases.catalogue.search import among, in_namespaces, indexes_in_memory, words_in
from apps.releases.models import SearchDoc, SearchGram

# Of the words with the most trigrams in common.
MAX_COMPARED = 200
MAX_CORRECTED = 3  # words of a query; with more it is no misspelling


def corrected(
    words: Iterable[str], *, namespaces: Collection[int], names: Collection[str], unused: Collection[str] = ()
) -> dict[str, str] | None:
    """Return by misspelled word the words to search for instead; None if one of them has no likeness to any.

    `names` are words that are in use beside the index, `unused` those that are known not to be in it.
    """
    with indexes_in_memory():
        found: dict[str, str] = {}
        for word in words:
            if _is_used(word, namespaces, names, unused):
                continue
            # The word itself is not in use; a part of it may be.
            parts = [
                part if part != word and _is_used(part, namespaces, names) else _nearest(part, namespaces, names)
                for part in simple_words(word)
            ]
            if not parts or not all(parts) or len(found) == MAX_CORRECTED:
                return None
            found[word] = " ".join(part for part in parts if part)
        return found


def _is_used(word: str, namespaces: Collection[int], names: Collection[str], unused: Collection[str] = ()) -> bool:
    """No join: for it SQLite would begin with the documents, of all namespaces, if the reader sees many."""
    if any(name.startswith(word) for name in names):
        return True
    if word in unused:
        return False
    listed = SearchDoc.objects.filter(pk=OuterRef("doc"), is_listed=True)
    return words_in(in_namespaces(namespaces), [word]).filter(Exists(listed)).exists()


def _nearest(word: str, namespaces: Collection[int], names: Collection[str]) -> str | None:
    """With the fewest edits; of equally near ones the one that shares most trigrams, then by its letters."""
    if not edits_in(word):
        return None
    own, least = grams(word), shared_grams(word)
    rows = SearchGram.objects.filter(among(namespaces), gram__in=[gram.encode() for gram in own])
    grouped = rows.order_by().values("word").annotate(shared=Count("gram", distinct=True)).filter(shared__gte=least)
    shared = {bytes(row["word"]).decode(): row["shared"] for row in grouped.order_by("-shared", "word")[:MAX_COMPARED]}
    shared |= {name: len(own & grams(name)) for name in names if len(own & grams(name)) >= least}
    near = sorted((edits, -shared[right], right) for right in shared if (edits := distance(word, right)) is not None)
    # What is left of former modules must not be told.
    return next((right for _, _, right in near if _is_used(right, namespaces, names)), None)
