"""A recording of a browser: pictures of a page, each with the time for which it is shown, as one animated WebP."""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Locator, Page

QUALITY = 62  # smaller blurs text, larger is no sharper at this size
# The pointer, which a browser without a screen does not draw.
POINTER = """([x, y]) => {
  let dot = document.getElementById("pointer");
  if (!dot) {
    dot = document.createElement("div");
    dot.id = "pointer";
    dot.style.cssText = "position:fixed;z-index:9999;width:22px;height:22px;margin:-11px;border-radius:50%;"
      + "background:#a4460f66;border:2px solid #a4460f;pointer-events:none";
    document.body.append(dot);
  }
  dot.style.left = x + "px";
  dot.style.top = y + "px";
}"""


@dataclass
class Recording:
    page: Page
    folder: Path
    frames: list[tuple[Path, int]] = field(default_factory=list)
    at: tuple[float, float] = (600.0, 420.0)

    def show(self, seconds: float) -> None:
        """Show the page as it is now for so long."""
        self.page.evaluate(POINTER, list(self.at))
        path = self.folder / f"{len(self.frames):03}.png"
        self.page.screenshot(path=path, animations="disabled", caret="initial")
        self.frames.append((path, round(seconds * 1000)))

    def open(self, path: str, seconds: float) -> None:
        self.page.goto(path)
        self.show(seconds)

    def point(self, target: Locator) -> None:
        """Move the pointer there, as a hand does: fast first, then slowly."""
        target.scroll_into_view_if_needed()
        box = target.bounding_box()
        assert box is not None
        (from_x, from_y), to_x, to_y = self.at, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        for part in (0.45, 0.8, 1.0):
            self.at = (from_x + (to_x - from_x) * part, from_y + (to_y - from_y) * part)
            self.show(0.09)

    def click(self, target: Locator, seconds: float) -> None:
        self.point(target)
        target.click()
        self.page.wait_for_load_state("networkidle")
        self.show(seconds)

    def type(self, target: Locator, text: str) -> None:
        self.point(target)
        for start in range(0, len(text), 2):
            target.press_sequentially(text[start : start + 2])
            self.show(0.14)

    @property
    def seconds(self) -> float:
        return sum(shown for _, shown in self.frames) / 1000

    def write(self, target: Path) -> None:
        frames = [word for path, shown in self.frames for word in ("-d", str(shown), str(path))]
        # Each picture is stored as what differs from the one before; -min_size looks for the least of it.
        words = [
            "img2webp",
            "-loop",
            "0",
            "-min_size",
            "-lossy",
            "-q",
            str(QUALITY),
            "-m",
            "4",
            *frames,
            "-o",
            str(target),
        ]
        subprocess.run(words, check=True, capture_output=True, timeout=300)  # our own words
