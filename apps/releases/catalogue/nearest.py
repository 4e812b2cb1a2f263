"""The names nearest to one that is not there."""

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.lib.addresses import canonical
from apps.lib.text.spelling import distance
from apps.releases.models import SearchDoc

# Of one namespace, or namespaces themselves.
MAX_COMPARED = 1_000
SHOWN = 2


def edits_between(wanted: str, there: str) -> int | None:
    """Between two canonical names in a namespace; another system of the same module is one. None if too many."""
    is_other_system = there != wanted and there.partition("/")[0] == wanted.partition("/")[0]
    return 1 if is_other_system else distance(wanted, there)


def nearest_docs(viewer: Viewer, kind: str, namespace: str, name: str) -> list[SearchDoc]:
    """Return the entries that the viewer may see with a similar name in the namespace, or with this name in others, the
    nearest first.
    """
    seen = SearchDoc.objects.filter(kind=kind, namespace__in=gate.visible_namespaces(viewer))
    seen = seen.select_related("namespace").order_by("sort_key", "pk")
    here, wanted = canonical(namespace), canonical(name)
    found: dict[int, tuple[int, SearchDoc]] = {}
    for doc in seen.filter(namespace__canonical=here)[:MAX_COMPARED]:
        edits = edits_between(wanted, canonical(doc.name))
        if edits is not None:
            found[doc.pk] = edits, doc
    for doc in seen.filter(name=name).exclude(namespace__canonical=here)[:MAX_COMPARED]:
        edits = distance(here, doc.namespace.canonical)
        found[doc.pk] = 1 if edits is None else min(edits, 1), doc
    ranked = sorted(found.values(), key=lambda one: (one[0], str(one[1])))
    return [doc for _, doc in ranked[:SHOWN]]


def nearest_namespaces(viewer: Viewer, name: str) -> list[str]:
    wanted = canonical(name)
    names = gate.visible_namespaces(viewer).order_by("canonical").values_list("name", "canonical")[:MAX_COMPARED]
    near = [(edits, shown) for shown, folded in names if (edits := distance(wanted, folded)) is not None]
    return [shown for _, shown in sorted(near)[:SHOWN]]
