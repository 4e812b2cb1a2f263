"""The entries of the table: blocks, arguments and the blocks inside, without any of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from apps.modules.inspection.language.clients import EVERY, NONE, Clients


@dataclass(frozen=True, slots=True)
class Argument:
    """`constant_for`: clients that evaluate it without variables and functions. `overriding`: another rule in an
    override file.
    """

    rule: str = ""
    required: Clients = NONE
    clients: Clients = EVERY
    constant_for: Clients = NONE
    overriding: str | None = None


@dataclass(frozen=True, slots=True)
class Nested:
    """A block inside another one. `most`: how many; `clients`: that know it; `key`: its entry in BLOCKS."""

    key: str
    most: int | None = None
    most_for: Clients = EVERY
    least: Clients = NONE  # clients that need one
    clients: Clients = EVERY


@dataclass(frozen=True, slots=True)
class Block:
    """`is_open`: further arguments and blocks belong to a provider, a backend or a called module.

    `conflicts`: of each group at most one. `one_of`: at least one of them, for these clients. `unique`: at most one in
    a module, by its labels. `primary`: clients that refuse it in an override file. `checks`: rules of the whole block.
    `is_undecoded`: no client looks into it when it loads the module.
    """

    source: str
    labels: tuple[str, ...] = ()  # the rule of each
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    blocks: Mapping[str, Nested] = field(default_factory=dict)
    is_open: bool = False
    any_labels: bool = False
    only_arguments: str | None = None  # the rule of every argument, where the names are free
    conflicts: tuple[tuple[str, ...], ...] = ()
    one_of: tuple[str, ...] = ()
    unique: str = ""
    primary: Clients = NONE
    checks: tuple[str, ...] = ()
    is_undecoded: bool = False
    clients: Clients = EVERY


TEXT = Argument("text", constant_for=EVERY)
FLAG = Argument("flag", constant_for=EVERY)
ESCAPED = Nested("free", most=1)
RESERVED = Nested("reserved", clients=NONE)
