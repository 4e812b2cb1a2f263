"""What comes out of one file."""

from dataclasses import dataclass, field

from apps.modules.inspection.blocks import Block, Note


@dataclass(slots=True)
class Reading:
    """`is_complete` is false where a block may have gone unseen."""

    blocks: list[Block] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    is_complete: bool = True
