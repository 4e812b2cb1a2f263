"""What comes out of one file."""

from dataclasses import dataclass, field

from apps.modules.inspection.blocks import Block, Note
from apps.modules.inspection.caps import MOST_NOTES


@dataclass(slots=True)
class Reading:
    """`is_complete` is false where a block may have gone unseen; `fault` is why no client reads it, if that is sure."""

    blocks: list[Block] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    is_complete: bool = True
    fault: Note | None = None
    locals: list[tuple[str, Note]] = field(default_factory=list)  # the names alone: their values are shown nowhere

    def warn(self, note: Note) -> None:
        """A file may have half a million faults; who reads of a hundred has understood."""
        if len(self.notes) <= MOST_NOTES:
            self.notes.append(note)
