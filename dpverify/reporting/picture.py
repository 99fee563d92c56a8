"""A figure as part of a page: vector graphics, words for those who cannot see it, and its numbers.

The numbers let the page answer what an eye asks of a picture: what is δ at this ε?
"""

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_POINTS_PER_INCH = 72.0  # of the vector graphics' own unit
_WIDE = 2.2  # times its height: small print on a narrow screen
_COUNTED = re.compile(r"^(runs|steps|draws|requests)\b")  # labels of axes that count
_MOST_NUMBERS = 400  # of one curve; more than a slider can tell apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """An SVG, its alternative text, and for each of its axes where they are and what they show."""

    svg: str
    alt: str
    frames: tuple[dict[str, Any], ...]

    @property
    def wide(self) -> bool:
        """Whether it is several panels side by side, too small to read on a phone."""
        found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', self.svg)
        return found is not None and float(found[1]) > _WIDE * float(found[2])


def picture(figure: "Figure", alt: str, *, followed: bool = True) -> Picture:
    """The figure as it would be saved, self-contained and the same on every run.

    Unless it is `followed`, its numbers are left out and no slider reads them.
    """
    import matplotlib as mpl  # noqa: PLC0415  # slow to import

    buffer = io.StringIO()
    # Text stays text: it can be searched, scales with the reader's font, and is a tenth the size.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dpverify"}):
        # Without a ground of its own, it stands on that of the page, light or dark.
        told = {"Date": None, "Creator": None}
        figure.savefig(buffer, format="svg", metadata=told, transparent=True)
    frames = tuple(_frame(axes, figure) for axes in figure.axes) if followed else ()
    return Picture(svg=_element(buffer.getvalue()), alt=alt, frames=frames)


def _element(document: str) -> str:
    """The svg element alone, as HTML holds it, without the document around it."""
    element = document[document.index("<svg") :]
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    # The page makes it smaller where there is no room; the view box keeps its proportions.
    opening, rest = element.split(">", 1)
    width = re.search(r' width="([^"]*)"', opening)
    opening = re.sub(r' (width|height)="[^"]*"', "", opening)
    limit = "" if width is None else f' style="max-width: {width[1]}"'
    return f"{opening}{limit}>{rest}"


def _frame(axes: "Axes", figure: "Figure") -> dict[str, Any]:
    curves = [curve for curve in map(_curve, axes.get_lines()) if curve is not None]
    width, height = (float(side) * _POINTS_PER_INCH for side in figure.get_size_inches())
    place = axes.get_position()
    return {
        "title": axes.get_title(),
        "box": [
            place.x0 * width,
            (1.0 - place.y1) * height,
            place.width * width,
            place.height * height,
        ],
        "x": {
            "label": axes.get_xlabel(),
            "range": list(axes.get_xlim()),
            "scale": axes.get_xscale(),
            # Then there is nothing between two numbers, such as runs or draws.
            "whole": _COUNTED.search(axes.get_xlabel()) is not None,
        },
        "y": {
            "label": axes.get_ylabel(),
            "range": list(axes.get_ylim()),
            "scale": axes.get_yscale(),
        },
        "curves": curves,
    }


def _curve(line: Any) -> dict[str, Any] | None:  # noqa: ANN401  # matplotlib's
    label = str(line.get_label())
    x, y = (np.asarray(values, dtype=float) for values in line.get_data())
    kept = np.isfinite(x) & np.isfinite(y)
    x, y = x[kept], y[kept]
    if label.startswith("_") or x.size < 2 or np.any(np.diff(x) < 0.0):
        return None
    steps = line.get_drawstyle() == "steps-post"  # then each point counts until the next
    most = x.size if steps else min(x.size, _MOST_NUMBERS)
    chosen = np.unique(np.linspace(0, x.size - 1, most).astype(int))
    return {
        "label": label.replace(r"\$", "$").strip(),
        "steps": steps,
        "color": str(line.get_color()),
        "x": [float(f"{value:.8g}") for value in x[chosen]],
        "y": [float(f"{value:.8g}") for value in y[chosen]],
    }
