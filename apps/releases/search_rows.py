"""The rows of the search index beside a document: its words, their trigrams, and the values to filter by."""

from django.db import models

from apps.accounts.models import Namespace


class SearchWord(models.Model):
    """One word of a document or of something in it, in lower case as UTF-8 bytes: a range of bytes is a prefix search.

    The index begins with the namespace, so a query reads what its reader may see and nothing else: hidden words cost no
    time.
    """

    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_index=False)
    doc = models.ForeignKey("releases.SearchDoc", models.CASCADE, related_name="words", db_index=False)
    is_name = models.BooleanField(help_text="A word of the module's or provider's own name.")
    term = models.BinaryField(max_length=64)
    place = models.PositiveSmallIntegerField(help_text="Where the word is, as a weight; see catalogue.indexing.")
    name = models.CharField(max_length=200, blank=True, help_text="The whole name that contains the word.")
    unit = models.CharField(max_length=300, blank=True, help_text="The folder or docs page that declares it.")

    class Meta:
        indexes = [
            models.Index(fields=["namespace", "is_name", "term", "doc"], name="releases_words_seen"),
            models.Index(fields=["doc", "term"], name="releases_words_of_doc"),
        ]

    def __str__(self) -> str:
        return bytes(self.term).decode(errors="replace")


class SearchGram(models.Model):
    """Three letters of a word in use in a namespace, by which misspelled words are recognised."""

    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="+", db_index=False)
    gram = models.BinaryField(max_length=12)
    word = models.BinaryField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["namespace", "gram", "word"], name="releases_grams_once")]

    def __str__(self) -> str:
        return bytes(self.word).decode(errors="replace")


class SearchTerm(models.Model):
    """The words of an older Larder, which may run beside this one. Unused; the next release drops the table."""

    doc = models.ForeignKey("releases.SearchDoc", models.CASCADE, related_name="terms", db_index=False)
    term = models.BinaryField(max_length=64)
    weight = models.PositiveSmallIntegerField(help_text="The weight of its best place; see releases.search.")

    class Meta:
        # One index finds documents by a word, the other the words of a document.
        constraints = [models.UniqueConstraint(fields=["doc", "term"], name="releases_terms_once")]
        indexes = [models.Index(fields=["term", "doc"], name="releases_terms_by_word")]

    def __str__(self) -> str:
        return bytes(self.term).decode(errors="replace")


class SearchFacet(models.Model):
    """One value to filter documents by: `system` aws, `provider` hashicorp/aws."""

    doc = models.ForeignKey("releases.SearchDoc", models.CASCADE, related_name="facets")
    facet = models.CharField(max_length=12)
    value = models.CharField(max_length=200)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["facet", "value", "doc"], name="releases_facets_once")]

    def __str__(self) -> str:
        return f"{self.facet}: {self.value}"
