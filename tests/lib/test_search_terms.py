from hypothesis import given
from hypothesis import strategies as st

from apps.lib.text.search_terms import LONGEST, begins_a_part, marked, spellings, terms_of, words_of
from tests.rows import for_each_row


@for_each_row(
    ("text", "terms"),
    [
        ("enable_nat_gateway", ["enable_nat_gateway", "nat_gateway", "gateway"]),
        ("my-vpc", ["my-vpc", "vpc"]),
        ("Creates VPCs, and/or subnets.", ["creates", "vpcs", "and/or", "or", "subnets"]),
        ("hashicorp/aws", ["hashicorp/aws", "aws"]),
        ("_private_", ["private"]),
        ("ﬁle Ⅳ Straße", ["file", "iv", "strasse"]),
        ("a\0b", ["a", "b"]),
        ("--- … ---", []),
        ("", []),
    ],
)
def test_terms_are_identifiers_and_what_follows_their_separators(text, terms):
    assert list(terms_of(text)) == terms


@for_each_row(
    ("query", "words"),
    [
        ("acme/vpc/aws", ["acme", "vpc", "aws"]),
        ("  VPC  vpc google ", ["vpc", "google"]),
        ("nat_gateway", ["nat_gateway"]),
        ("subnets*", ["subnets"]),
        ("\0", []),
        ("a b c d e f g h i j", list("abcdefgh")),
    ],
)
def test_a_query_is_its_words(query, words):
    assert words_of(query) == words


def test_dashes_and_underscores_are_equal():
    assert spellings("nat-gateway_id") == ["nat-gateway_id", "nat_gateway_id", "nat-gateway-id"]
    assert spellings("vpc") == ["vpc"]


def test_a_word_begins_a_part_or_does_not():
    assert begins_a_part("nat", "enable_nat_gateway")
    assert begins_a_part("en", "enable_nat_gateway")
    assert begins_a_part("at", "nat_at")
    assert not begins_a_part("at", "enable_nat_gateway")


@for_each_row(
    ("text", "words", "hits"),
    [
        ("enable_nat_gateway", ["nat"], ["nat"]),
        ("A VPC with subnets", ["vpc", "sub"], ["VPC", "sub"]),
        ("nat_gateway", ["nat-gateway"], ["nat_gateway"]),
        ("natural nat", ["at"], []),
        ("vpc", [], []),
    ],
)
def test_a_text_is_marked_where_its_parts_begin(text, words, hits):
    pieces = marked(text, words)

    assert "".join(piece for piece, _ in pieces) == text
    assert [piece for piece, is_hit in pieces if is_hit] == hits


@given(st.text(max_size=200))
def test_every_word_of_a_text_finds_it(text):
    terms = list(terms_of(text))
    assert all(len(term.encode()) <= LONGEST for term in terms)
    for word in words_of(text):
        ways = tuple(spellings(word))
        assert any(term.startswith(ways) for term in terms), (word, terms)


@given(st.text(max_size=100), st.lists(st.text(max_size=10), max_size=4))
def test_marking_loses_nothing(text, words):
    assert "".join(piece for piece, _ in marked(text, [word for word in words if word])) == text
