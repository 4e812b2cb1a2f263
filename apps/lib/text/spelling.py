"""Misspelled words: the trigrams that they share with the right word, and how many edits lie between the two."""

# From this number of letters on, a word may have an error, two errors, and may be the beginning of the right word.
ONE_EDIT, TWO_EDITS, UNFINISHED = 3, 8, 5


def grams(word: str) -> set[str]:
    """The runs of three letters, of a word with two spaces before it: its beginning counts more than its end."""
    padded = f"  {word}"
    return {padded[place : place + 3] for place in range(len(word))}


def edits_in(word: str) -> int:
    """Return how many edits may lie between the word and the right one."""
    return 0 if len(word) < ONE_EDIT else 1 if len(word) < TWO_EDITS else 2


def shared_grams(word: str) -> int:
    """The least number of trigrams that the right word shares: an edit changes up to four."""
    fewest = 1 if len(word) <= UNFINISHED else 2
    return max(fewest, len(word) - (4 if edits_in(word) == 1 else 7))


def distance(word: str, right: str) -> int | None:
    """The edits (insert, delete, replace, swap two neighbours) between them; None if there are too many.

    A longer word may be the beginning of the right one, as it is while a user types.
    """
    most = edits_in(word)
    if len(right) < len(word) - most or (len(word) < UNFINISHED and len(right) > len(word) + most):
        return None
    start = right[: len(word) + most]
    # A row for each beginning of the word: the edits between it and each beginning of the right one.
    before: list[int] = []
    row = list(range(len(start) + 1))
    for down, letter in enumerate(word, 1):
        above, before = before, row
        row = [down]
        for across, other in enumerate(start, 1):
            cost = min(before[across] + 1, row[-1] + 1, before[across - 1] + (letter != other))
            if down > 1 and across > 1 and letter == start[across - 2] and word[down - 2] == other:
                cost = min(cost, above[across - 2] + 1)
            row.append(cost)
    beginnings = row[len(word) :] if len(word) >= UNFINISHED else []
    whole = row[len(right)] if len(right) < len(row) else most + 1
    fewest = min([whole, *beginnings])
    return fewest if fewest <= most else None
