from typing import Any

from django.db import migrations

BATCH = 500  # documents
# The weights of the time: a word of the own name, and a resource, which has another weight now.
NAME, RESOURCE, RESOURCE_NOW = 10000, 4, 5


def fill(_apps: Any, schema_editor: Any) -> None:
    """Lists find what they found before. What each word is a part of is added when a document is indexed again."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(max(id), 0) FROM releases_searchdoc")
        last = cursor.fetchone()[0]
        for start in range(0, last, BATCH):
            cursor.execute(
                "INSERT INTO releases_searchword (namespace_id, doc_id, is_name, term, place, name, unit)"
                " SELECT doc.namespace_id, doc.id, old.weight = %s, old.term,"
                " CASE WHEN old.weight = %s THEN %s ELSE old.weight END, '', ''"
                " FROM releases_searchterm AS old JOIN releases_searchdoc AS doc ON doc.id = old.doc_id"
                " WHERE doc.id > %s AND doc.id <= %s AND doc.indexed_release IS NULL"
                " AND NOT EXISTS (SELECT 1 FROM releases_searchword AS new WHERE new.doc_id = doc.id)",
                [NAME, RESOURCE, RESOURCE_NOW, start, start + BATCH],
            )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("releases", "0012_search_words")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
