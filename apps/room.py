"""The door of each room: all that it contributes to the others.

The core and `registry_site` ask the installed rooms, and name none of `apps/contrib`. A door is read before models are
loaded: it names what it contributes by dotted names, which are resolved on use.

A room that is left out (`LARDER_WITHOUT`) contributes no more than what keeps its rows and their bytes safe: they stay.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import resolve_name
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings

# Dotted, below the room's own package: `hooks.SEALED`.
Name = str
Names = tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of Larder on /status. `failure`: what it means that the part is down."""

    title: str
    purpose: str
    failure: str


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A link of a menu. `route` is the name of a URL, which takes the namespace in the menu of one.

    `key`: by what the page itself says that it is this one. `permission`: of the staff who see it. `offer`: what pages
    that lead to it say of it. `words`: other words by which people look for it in the palette. `tab`: in which tab of a
    namespace it is a section, `before` which of its sections (a key), and whether it is `for_owners`, not publishers.
    """

    label: str
    route: str
    icon: str = ""
    key: str = ""
    permission: str = ""
    offer: str = ""
    words: str = ""
    tab: str = ""
    before: str = ""
    for_owners: bool = False


@dataclass(frozen=True, slots=True)
class VersionTab:
    """A tab on the pages of a version, of modules and of providers: `<address>/<version>/<page>`.

    `contents(request, opened, context)` adds to the context what `template` shows in the frame of the version.
    `count(opened, mark)` gets the mark of the version that leads here, or None: a number hides the tab at 0, None shows
    it without one.
    """

    page: str
    label: str
    template: str
    contents: Name
    count: Name = ""


@dataclass(frozen=True, slots=True)
class Described:
    """A kind of what a file describes for `manage.py apply`: its key there, and its routes in the API.

    `one`: the route of one, by the field that names it: GET shows it, PUT (or PATCH) makes it so, DELETE removes it.
    The field `id` stands for a number that Larder gives; no field, for the only one in what contains it (`within`).
    `reads`: yields the fields of each, with the name of what contains it, of those within these names; of the kinds
    within nothing, with its own name, of those that have these names, or of all with None. It asks as many queries for
    one name as for hundreds. `rows`: the route of their list, which adds by POST where `one` has no PUT. `identity`:
    the fields by which a numbered one is found again: all of them where it is empty. `secrets`: fields that no answer
    shows. `own_first`: its name is that of another thing of the file, stands first in the route, and comes after all
    others.
    """

    word: str
    one: Mapping[str, str]
    reads: Name
    rows: str = ""
    within: str = ""
    identity: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    own_first: bool = False

    def read(self, names: Collection[str] | None) -> Iterable[tuple[str, dict[str, Any]]]:
        found: Iterable[tuple[str, dict[str, Any]]] = resolve_name(self.reads)(names)
        return found

    @property
    def is_only(self) -> bool:
        return "" in self.one

    @property
    def is_numbered(self) -> bool:
        return "id" in self.one


# What a room that is left out contributes all the same: its rows are under the secret key, refer to blobs, and end with
# the people and namespaces that they belong to. Its jobs go to the workers that may go out.
ALWAYS = {
    *("sealed_columns", "created_by_tokens", "connections", "known_secrets", "namespace_contents", "namespace_endings"),
    *("blob_references", "manifest_references", "purges", "stored_bytes", "job_targets", "queues"),
}


class Room(AppConfig):
    # Settings by their names, and what reads each from the environment with the readers of registry_site/env.py, before
    # apps are loaded. Those of a room that is left out are read too, so that no variable is unknown.
    settings: Mapping[str, Name] = {}

    # --- Routes and pages. Whole names of modules with `urlpatterns`; those of the root have an `app_name`.
    root_urls: tuple[str, ...] = ()
    api_urls: tuple[str, ...] = ()
    portal_urls: tuple[str, ...] = ()
    staff_menu: tuple[MenuEntry, ...] = ()
    # Pages for everyone who installs: the documentation and the list of providers lead to them.
    reader_menu: tuple[MenuEntry, ...] = ()
    # Sections of a namespace for its owners and publishers.
    namespace_menu: tuple[MenuEntry, ...] = ()
    version_tabs: tuple[VersionTab, ...] = ()
    # Parts of the tab Usage of modules and providers, `<address>/<page>`: the label of each by its page.
    usage_parts: Mapping[str, str] = {}
    # Sections of the page that says how to use Larder: the title of each, by the name of its template in
    # `portal/how_to` and of its anchor; and what returns the text to copy there, or None where there is none.
    how_to: Mapping[str, tuple[str, Name]] = {}
    # Sections of pages that others have, by the page: a template, and what returns the values that it calls `found`
    # (`portal.frame.sections`).
    page_sections: Mapping[str, tuple[tuple[str, Name], ...]] = {}
    # A template beside the form that publishes: another way.
    publishing_aside = ""

    # Sentences above each page: functions that return one, or nothing.
    notices: Names = ()
    # Django middleware before a request has a body, a session or a person. Settings read it, before apps are loaded.
    middleware: Names = ()

    # --- Work
    # Entries of Celery's beat schedule.
    periodic_tasks: Mapping[str, Mapping[str, Any]] = {}
    # Start the background writers of a process that answers requests.
    starts: Names = ()
    # Names of tasks by the queue that they go to.
    queues: Mapping[str, Names] = {}
    # What the role of signing workers may do with its tables, by the model: as `database_roles` says it.
    signing_tables: Names = ()
    # Queues that need a worker only while one of these functions says so.
    queue_needs: Mapping[str, Name] = {}
    # `targets.Source` by the kinds of jobs.
    job_targets: Names = ()
    # By the first word of a source of work, such as a list that is kept elsewhere: what to do when work of it ends.
    job_refills: Mapping[str, Name] = {}
    # Told who had a job tried again: `retried(kind, row, viewer)`.
    retries: Names = ()

    # --- People and namespaces
    # `sealing.Column`: what is encrypted under the secret key, and must be again before a line of its file is removed.
    sealed_columns: Names = ()
    created_by_tokens: Names = ()
    # What people connect to namespaces, and would leave behind there; and the secrets that they know.
    connections: Names = ()
    known_secrets: Names = ()
    # Kinds of `identity_providers.IdentityProvider`: settings read them, before apps are loaded.
    identity_providers: Names = ()
    # Kinds of `kek_urls.KeyAddress`: settings read them, before apps are loaded.
    key_addresses: Names = ()
    # Pages at which a sign-in ends: a session that still lacks its second factor reads them.
    sign_in_routes: tuple[str, ...] = ()
    # Describe what it has in a namespace; end what it has in one that is deleted.
    namespace_contents: Names = ()
    namespace_endings: Names = ()

    # `notify.channels.Channel`: a way by which notices leave.
    channels: Names = ()
    # `notify.events.Event` by its name: what programs and people can be told of.
    events: Names = ()
    # `attention.matter.Matter`: rows of the table of what needs attention, with who can act and who is only told.
    attention: Names = ()

    # --- Releases and their bytes
    # Conditions of blobs and manifests that it refers to without a foreign key.
    blob_references: Names = ()
    manifest_references: Names = ()
    # What follows a publication, and goes with a purge, in the transaction of each.
    after_publication: Names = ()
    purges: Names = ()
    # What a release has to wait for, beside the approval of a person: `releases.publishing.approving.conditions`.
    publication_conditions: Names = ()
    # Write a batch of downloads too, in the transaction that counts them: `write(batch, releases)`, with the types of
    # `releases.catalogue.downloads`. Raise `IntegrityError` to have all of it written again.
    download_writers: Names = ()
    # What is said of releases in a few words: `releases.catalogue.marks.sources`.
    release_marks: Names = ()
    # What is read of an artifact that is attached to a release over OCI: `oci.attaching.Reader`.
    attachment_readers: Names = ()
    # Who else is hit by an act on releases, before it is done: `releases.lifecycle.impact.Contributor`.
    consequences: Names = ()
    # Bytes that count to a namespace, beside those of its versions.
    stored_bytes: Names = ()
    # How a kind of release refreshes its search document.
    search_refreshers: Mapping[str, Name] = {}
    # Filters of the lists and orders: `releases.catalogue.indexing.RoomFacet`.
    search_facets: Names = ()

    # --- Operators
    # What `manage.py apply` reads in a file: what contains others comes before them.
    described: tuple[Described, ...] = ()
    # Describe this registry in such a file.
    exports: Names = ()
    # Bring the database to what the settings say, once its tables are up to date. Raise `Invalid` where that fails.
    preparations: Names = ()
    # Raise `Invalid` where no process may start, with the database that it has. Called once the tables are up to date.
    start_checks: Names = ()
    # Keeps what LARDER_DEMO=on promises: without such a room nothing starts with it.
    demonstrates = False
    # The help: topic of a page -> where docs/ has it.
    help_topics: Mapping[str, str] = {}
    # Permissions of its models that have an effect, beside those to view: their codenames.
    act_permissions: tuple[str, ...] = ()
    # The title of a group in the admin, and its models.
    admin_lists: tuple[str, Names] = ("", ())
    # What an operator must look at, by its title: the model, what returns its rows, and the query of the list that
    # shows them; and what says of a row why. Operate begins with the newest, and the acts that their admin declares.
    alarm_tiles: Mapping[str, tuple[Name, Name, str, Name]] = {}
    # Parts of /status, and what says which are in use and whether they answer.
    parts: Mapping[str, Part] = {}
    part_states: Names = ()
    # Yield state ("ok", "warn", "fail"), what was found, and a hint.
    doctor_looks: Mapping[str, Name] = {}
    # What it counts, and what it tells of its rows, on /metrics.
    counters: Names = ()
    metric_families: Names = ()
    # Yield each stored package with the problems of its bytes.
    verifications: Names = ()

    def connect(self) -> None:
        """Fill in what a room below asks of this one alone. Called once, when all are loaded."""

    @classmethod
    def resolved(cls, name: Name) -> Any:
        return resolve_name(f"{cls.name}.{name}")


def rooms(contribution: str = "") -> list[Room]:
    """Return those that contribute this, in the order of their installation."""
    found = [config for config in apps.get_app_configs() if isinstance(config, Room)]
    return [one for one in found if contribution in ALWAYS or one.name not in settings.ROOMS_LEFT_OUT]


def all_of(contribution: str) -> tuple[Any, ...]:
    return tuple(room.resolved(name) for room in rooms(contribution) for name in getattr(room, contribution))


def by_key(contribution: str) -> Iterator[tuple[str, Any]]:
    for room in rooms(contribution):
        for key, name in getattr(room, contribution).items():
            yield key, room.resolved(name)


def urls(contribution: str) -> list[Any]:
    return [
        pattern
        for room in rooms()
        for name in getattr(room, contribution)
        for pattern in import_module(name).urlpatterns
    ]
