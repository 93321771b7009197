"""Plots of a tournament as PNG images, in colours for light and for dark pages."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from experiments.statistics import Floats
from experiments.tournament_summary import Summary
from experiments.tournament_tables import duration

_DPI = 192  # two pixels of the image for one of the page
_INCH = 96  # pixels of a page in an inch
_WIDTH = 5.2  # inches
_LABEL = 22  # letters of a name


@dataclass(frozen=True)
class Theme:
    """Colours: of the page, of text, of lines that matter less, of marks, and of losses, draws and wins."""

    page: str
    text: str
    grid: str
    mark: str
    loss: str
    even: str
    win: str


LIGHT = Theme("#ffffff", "#1d2129", "#d9dce1", "#2563a8", "#c2571a", "#f1f1ee", "#2563a8")
DARK = Theme("#1b1e24", "#e4e6ea", "#3d424b", "#6aaaf0", "#e08445", "#2d3138", "#6aaaf0")


@dataclass(frozen=True)
class Plot:
    """A plot.

    Attributes:
        name: of its file, without an ending.
        title: what it shows, as a heading.
        caption: how to read it.
        width: of the image on a page, in pixels.
        draw: makes the PNG image in a theme's colours.
    """

    name: str
    title: str
    caption: str
    width: int
    draw: Callable[[Theme], bytes]


def plots(summary: Summary) -> list[Plot]:
    """All plots that there is something to show in."""
    agents = len(summary.standings)
    rows = 0.75 + 0.4 * agents  # inches
    found = [
        _plot("ratings", "Ratings", "Elo points with 95 % intervals; 400 points are odds of ten to one.",
              (_WIDTH, rows), lambda axes, theme: _ratings(axes, theme, summary)),
    ]  # fmt: skip
    square = (1.7 + 0.62 * agents, 1.3 + 0.5 * agents)
    if summary.pairs:
        found += [
            _plot("payoffs", "Payoffs", "Mean margin per deal in points, of the agent on the left against that below.",
                  square, lambda axes, theme: _heat_map(axes, theme, summary, summary.payoffs)),
        ]  # fmt: skip
    partners = summary.partners
    if partners is not None:
        found += [
            _plot("cross-play", "Cross-play", "Mean margin per deal in points of two agents as partners.",
                  square, lambda axes, theme: _heat_map(axes, theme, summary, partners)),
        ]  # fmt: skip
    if summary.pairs:
        found += [
            _plot("margins", "Margins", "Each agent's mean margins of the deals in points; the line is their mean, and "
                  "the bars at the ends hold all that lies beyond.",
                  (_WIDTH, 0.75 + 0.62 * agents), lambda axes, theme: _margins(axes, theme, summary)),
        ]  # fmt: skip
    if not all(np.isnan(standing.seconds) for standing in summary.standings):
        found += [
            _plot("time", "Time per move", "Thinking time per move, on a logarithmic scale.",
                  (_WIDTH, rows), lambda axes, theme: _time(axes, theme, summary)),
        ]  # fmt: skip
    return found


def _plot(name: str, title: str, caption: str, size: tuple[float, float], paint: Callable[[Axes, Theme], None]) -> Plot:
    def draw(theme: Theme) -> bytes:
        # Names are shown as they are ("$" is no formula). No pyplot: nothing global is opened or left open.
        with mpl.rc_context({"font.size": 10.5, "text.parse_math": False, "font.family": "DejaVu Sans"}):
            figure = Figure(figsize=size, dpi=_DPI, facecolor=theme.page, layout="constrained")
            axes = figure.add_subplot(facecolor=theme.page)
            axes.tick_params(colors=theme.text, length=0)
            axes.spines[:].set_visible(False)
            paint(axes, theme)
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png", metadata={"Software": None})
        return buffer.getvalue()

    return Plot(name, title, caption, round(size[0] * _INCH), draw)


def _labels(summary: Summary) -> list[str]:
    """Names; those that are too long are shortened, with their places in the ranking to tell them apart."""
    half = _LABEL // 2
    names = [standing.name for standing in summary.standings]
    return [
        name if len(name) <= _LABEL else f"{place}: {name[: half - 2]}…{name[2 - half :]}"
        for place, name in enumerate(names, start=1)
    ]


def _rows(axes: Axes, theme: Theme, labels: Sequence[str]) -> None:
    """A row for each agent, the first at the top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(axis="x", color=theme.grid, linewidth=0.7)
    axes.set_axisbelow(True)


def _ratings(axes: Axes, theme: Theme, summary: Summary) -> None:
    _rows(axes, theme, _labels(summary))
    for row, standing in enumerate(summary.standings):
        rating = standing.rating
        axes.plot([rating.low, rating.high], [row, row], color=theme.mark, linewidth=2.5, solid_capstyle="round")
        axes.plot(rating.rating, row, "o", color=theme.mark, markersize=7, markeredgecolor=theme.page)
    axes.margins(x=0.06)


def _heat_map(axes: Axes, theme: Theme, summary: Summary, values: Floats) -> None:
    colours = LinearSegmentedColormap.from_list("margins", [theme.loss, theme.even, theme.win])
    limit = max(float(np.nanmax(np.abs(values))), 1e-9)
    axes.imshow(values, cmap=colours, vmin=-limit, vmax=limit, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        if np.isnan(value):
            axes.text(column, row, "·", ha="center", va="center", color=theme.text, alpha=0.5)
        else:
            shade = _readable(colours((value / limit + 1) / 2))
            axes.text(column, row, f"{value:+z.1f}", ha="center", va="center", color=shade, fontsize=9.5)
    labels = _labels(summary)
    axes.set_xticks(range(len(labels)), labels, rotation=35, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(labels)), labels)
    lines = np.arange(len(labels) + 1) - 0.5
    axes.hlines(lines, -0.5, len(labels) - 0.5, color=theme.page, linewidth=2)
    axes.vlines(lines, -0.5, len(labels) - 0.5, color=theme.page, linewidth=2)


def _readable(colour: tuple[float, ...]) -> str:
    """Black or white, whichever stands out more from a colour by the contrast ratio of WCAG 2."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#ffffff"


def _margins(axes: Axes, theme: Theme, summary: Summary) -> None:
    _rows(axes, theme, _labels(summary))
    low, high = np.quantile(np.concatenate(summary.margins), (0.005, 0.995))
    half = max(abs(low), abs(high), 1.0)
    bins = np.linspace(-half, half, 42)  # an odd number of bars, so that one is for draws
    for row, margins in enumerate(summary.margins):
        counts, _ = np.histogram(np.clip(margins, -half, half), bins)
        heights = 0.8 * counts / max(1, counts.max())
        axes.stairs(row + 0.4 - heights, bins, baseline=row + 0.4, fill=True, color=theme.mark, alpha=0.75)
        if len(margins):
            mean = np.clip(margins.mean(), -half, half)
            axes.plot([mean, mean], [row + 0.4, row - 0.45], color=theme.text, linewidth=1.6)
    axes.set_xlim(-half, half)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}" if value else "0"))


def _time(axes: Axes, theme: Theme, summary: Summary) -> None:
    _rows(axes, theme, _labels(summary))
    seconds = np.array([standing.seconds for standing in summary.standings])
    shown = np.maximum(seconds, 1e-9)
    least, most = float(np.nanmin(shown)), float(np.nanmax(shown))
    axes.set_xscale("log")
    axes.set_xlim(10 ** np.floor(np.log10(least) - 0.3), most * (most / least) ** 0.2 * 3)  # room for the numbers
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: duration(value)))
    axes.xaxis.set_minor_formatter("")
    axes.minorticks_off()
    axes.barh(range(len(shown)), shown, 0.55, color=theme.mark)
    for row, value in enumerate(seconds):
        if not np.isnan(value):
            axes.annotate(duration(value), (max(value, 1e-9), row), (5, 0), textcoords="offset points", va="center",
                          color=theme.text, fontsize=9.5)  # fmt: skip
