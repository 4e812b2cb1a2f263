from hypothesis import given
from hypothesis import strategies as st

from apps.lib.text.spelling import distance, edits_in, grams, shared_grams
from tests.rows import for_each_row


@for_each_row(
    ("word", "right", "edits"),
    [
        ("subent", "subnet", 1),
        ("vcp", "vpc", 1),
        ("netwrok", "network", 1),
        ("infrastructrue", "infrastructure", 1),
        ("kuberentse", "kubernetes", 2),
        ("kuberent", "kubernetes", 1),  # while somebody types
        ("vpc", "vpc", 0),
        ("vcp", "vcenter", None),
        ("ab", "ac", None),
        ("subent", "bucket", None),
        ("", "vpc", None),
    ],
)
def test_a_few_edits_lie_between_a_misspelled_word_and_the_right_one(word, right, edits):
    assert distance(word, right) == edits


WORDS = st.text("abcdeé_", min_size=3, max_size=12)


@given(WORDS, st.data())
def test_a_word_with_one_error_is_recognised(right, data):
    place = data.draw(st.integers(1, len(right) - 1))
    wrong = data.draw(
        st.sampled_from(
            [
                right[:place] + "x" + right[place:],
                right[:place] + "x" + right[place + 1 :],
                right[:place] + right[place + 1 :],
                right[: place - 1] + right[place] + right[place - 1] + right[place + 1 :],
            ]
        )
    )
    if edits_in(wrong):
        assert distance(wrong, right) is not None
        if len(wrong) > 5:
            assert len(grams(wrong) & grams(right)) >= shared_grams(wrong) or len(set(right)) < 4
