"""A picture that explains a prediction: the labels with the largest shares, and the paths to them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

from gssl.wording import elided, write_signed

# the style of a picture outside a page of gssl, such as in a notebook, light or dark
_STYLE = (
    "svg.near{max-width:32rem;display:block;font:12.5px sans-serif}"
    "svg.near text{fill:currentColor;white-space:pre}"
    "svg.near text.quiet,svg.near text.share{opacity:.65}"
    "svg.near path{fill:none;stroke:currentColor;opacity:.4}"
    "svg.near path.apart{stroke-dasharray:4 3}svg.near path.lead{stroke-dasharray:1 3}"
    "svg.near circle{fill:var(--color,#888);stroke:currentColor}svg.near circle.guess{fill-opacity:.35}"
)
# colours of classes there
_COLOURS = ("#2a78d6", "#e07b00", "#2e9e5b", "#c2410c", "#7c5cd6", "#b3457c", "#8a6d3b", "#5f7d8c")

# number of labels shown for the prediction, and again against it
_EACH = 4
# longer paths are drawn as one dashed line
_FAR = 3
_WIDTH, _ROW, _TOP, _ROOT, _TEXT = 420, 24, 20, 14, 150
_Positions = dict[int, tuple[float, float]]
_Link = tuple[tuple[float, float], tuple[float, float], float, str]


@dataclass(frozen=True)
class Mark:
    """How a node is drawn: its name, its class and the ``color_index`` of the class, or −1.

    ``given`` is whether the class is a given label rather than a prediction.
    """

    name: str
    label: str
    color_index: int
    given: bool


@dataclass(frozen=True)
class Voice:
    """The contribution of one label to a prediction.

    Attributes
    ----------
    node : int
    label : its class
    share : float
        Its contribution to the lead of the predicted class over the runner-up.
    path : tuple of int, or None
        The inner nodes of a shortest path from the explained node. None if there is no path.
    relations : tuple of str
        The kinds of links on that path, each once, with ", out" or ", in" if they have directions.
    """

    node: int
    label: Any
    share: float
    path: tuple[int, ...] | None
    relations: tuple[str, ...] = ()


def draw_alone(
    node: int, predicted: str, runner_up: str, voices: Sequence[Voice], names: Callable[[int], str]
) -> str:
    """Return the picture with its style, for a notebook; inner nodes of paths have no class."""
    labels = {voice.node: str(voice.label) for voice in voices}
    classes = list(dict.fromkeys((predicted, runner_up, *labels.values())))

    def mark(k: int) -> Mark:
        label = predicted if k == node and k not in labels else labels.get(k, "")
        code = classes.index(label) % len(_COLOURS) if label else -1
        return Mark(names(k), label, code, k in labels)

    picture = draw_neighbourhood(node, predicted, runner_up, voices, mark, _COLOURS)
    return f"<style>{_STYLE}</style>{picture}" if picture else ""


def shown_voices(voices: Sequence[Voice]) -> list[Voice]:
    """Return the labels that a picture shows: the first for the prediction, and the first against it."""
    return [v for sign in (1, -1) for v in [v for v in voices if sign * v.share > 0][:_EACH]]


def draw_neighbourhood(
    node: int,
    predicted: str,
    runner_up: str,
    voices: Sequence[Voice],
    mark: Callable[[int], Mark],
    colours: Sequence[str] = (),
) -> str:
    """Return an SVG of the labels with the largest shares in a prediction, and the paths to them.

    Names are escaped. ``data-code`` is the index of a class; if ``colours`` are given, the CSS variable
    ``--color`` is its colour.
    """
    voices_shown = shown_voices(voices)
    shown = [[v for v in voices_shown if sign * v.share > 0] for sign in (1, -1)]
    if not voices_shown:
        return ""
    heights, y, parts = {}, float(_TOP), []
    for name, group in zip((predicted, runner_up), shown, strict=True):
        if group:
            parts.append(_text(_TEXT, y - 6, f"for {elided(name, 32)}", "quiet"))
        for voice in group:
            y += _ROW
            heights[voice.node] = y - 8
        y += _TOP + 6 if group else 0
    positions, links = _tree(node, voices_shown, heights)
    parts += [_link(*each) for each in links]
    for voice in voices_shown:
        parts += _row(voice, positions[voice.node], heights[voice.node], mark(voice.node))
    for k, position in positions.items():
        parts.append(_circle(k, position, mark(k), 7 if k == node else 5.5 if k in heights else 4, colours))
    labels = ", ".join(f"{mark(v.node).name} ({mark(v.node).label})" for v in voices_shown)
    description = escape(f"Labels with the largest shares in the prediction of {mark(node).name}: {labels}")
    return (
        f'<svg class="near" viewBox="0 0 {_WIDTH} {y - _TOP:.0f}" role="img" '
        f'aria-label="{description}">{"".join(parts)}</svg>'
    )


def _tree(root: int, voices: Sequence[Voice], heights: dict[int, float]) -> tuple[_Positions, list[_Link]]:
    """Lay out nodes by distance from the root; all paths belong to one shortest-path tree.

    Returns the positions of nodes, and links with the relative share that passes through them and their kind.
    """
    depths: dict[int, int] = {}
    below: dict[int, list[float]] = {}
    flow: dict[tuple[int, int], float] = {}
    kinds: dict[tuple[int, int], str] = {}
    for voice in voices:
        direct = voice.path is not None and len(voice.path) <= _FAR
        chain = [*(voice.path or ()), voice.node] if direct else [voice.node]
        depths |= {node: k for k, node in enumerate(chain, start=1)}
        for one, other in pairwise([root, *(node for node in chain if node != root)]):
            flow[one, other] = flow.get((one, other), 0.0) + abs(voice.share)
            kinds[one, other] = "link" if direct else "apart"
            below.setdefault(other, []).append(heights[voice.node])
    step = (_TEXT - _ROOT - 18) / max(depths.values())
    middle = (min(heights.values()) + max(heights.values())) / 2
    positions: _Positions = {root: (_ROOT, heights.get(root, middle))}
    taken: set[tuple[int, int]] = set()
    for node, depth in sorted(depths.items(), key=lambda item: item[1]):
        if node == root:
            continue
        y = heights.get(node, sum(below[node]) / len(below[node]))
        while (depth, round(y / 10)) in taken:
            y += 10
        taken.add((depth, round(y / 10)))
        positions[node] = _ROOT + step * depth, y
    most = max(flow.values(), default=1.0)
    return positions, [(positions[a], positions[b], f / most, kinds[a, b]) for (a, b), f in flow.items()]


def _link(start: tuple[float, float], end: tuple[float, float], part: float, kind: str) -> str:
    (x, y), (u, v) = start, end
    bend = (x + u) / 2
    return (
        f'<path class="{kind}" d="M{x:.1f} {y:.1f}C{bend:.1f} {y:.1f} {bend:.1f} {v:.1f} {u:.1f} {v:.1f}" '
        f'stroke-width="{1 + 3 * part:.1f}"/>'
    )


def _row(voice: Voice, position: tuple[float, float], y: float, mark: Mark) -> list[str]:
    """Draw the name and share of a label, and a line to them from its node."""
    own = mark.label if mark.name != mark.label else ""
    shown = f"{elided(mark.name)}  {elided(own)}" if own else elided(mark.name)
    return [
        f'<path class="lead" d="M{position[0] + 8:.1f} {y:.1f}H{_TEXT - 5}"/>',
        _text(_TEXT, y + 4, shown, "", f"{mark.name} ({mark.label})"),
        _text(_WIDTH - 2, y + 4, write_signed(voice.share), "share"),
    ]


def _circle(
    node: int, position: tuple[float, float], mark: Mark, radius: float, colours: Sequence[str]
) -> str:
    colour = f' style="--color:{colours[mark.color_index]}"' if 0 <= mark.color_index < len(colours) else ""
    code = f' data-code="{mark.color_index}"' if mark.color_index >= 0 else ""
    kind, title = "given" if mark.given else "guess", escape(f"{mark.name} ({mark.label})")
    x, y = position
    return (
        f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}" data-node="{node}"'
        f"{code}{colour}><title>{title}</title></circle>"
    )


def _text(x: float, y: float, text: str, kind: str, title: str = "") -> str:
    end = ' text-anchor="end"' if kind == "share" else ""
    tip = f"<title>{escape(title)}</title>" if title else ""
    return f'<text class="{kind}" x="{x:.0f}" y="{y:.1f}"{end}>{tip}{escape(text)}</text>'
