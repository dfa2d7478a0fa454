"""The trade-off as SVG: answered when answerable against refused when removed, a line a dataset.

Written by hand: one picture is not worth a plotting library.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from retrieval.evaluation.answerability import Tradeoff, Trial

WIDTH, HEIGHT = 760, 560
LEFT, RIGHT, TOP, BOTTOM = 70, 30, 56, 64
POINTS = 200
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#444444")
TICKS = tuple(step / 5 for step in range(6))
TITLE = "Answered when answerable, refused when the answer was removed"


def svg(trials: Sequence[Trial]) -> str:
    """A whole SVG document; the threshold in force is a dot on each line."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="#222" role="img">',
        f"<title>{TITLE}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="30" font-size="16" font-weight="600">{TITLE}</text>',
        *_axes(),
        *(line for n, trial in enumerate(trials) for line in _curve(trial, _colour(n))),
        *_legend(trials),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def curve(trial: Trial) -> list[Tradeoff]:
    """From answering everything to refusing everything, at most `POINTS` steps."""
    present, removed, _ = trial.scores
    found = sorted({score for score in (*present, *removed) if score != float("-inf")})
    every = max(1, len(found) // POINTS)
    ends = (float("-inf"), float("inf"))
    return [trial.at(threshold) for threshold in (ends[0], *found[::every], ends[1])]


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _x(share: float) -> float:
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def _y(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def _axes() -> Iterator[str]:
    for tick in TICKS:
        x, y = _x(tick), _y(tick)
        yield f'<path d="M{x} {_y(0)}V{_y(1)}M{_x(0)} {y}H{_x(1)}" stroke="#e4e4e4"/>'
        yield f'<text x="{x}" y="{_y(0) + 20}" text-anchor="middle">{tick:.1f}</text>'
        yield f'<text x="{_x(0) - 10}" y="{y + 4}" text-anchor="end">{tick:.1f}</text>'
    yield f'<path d="M{_x(0)} {_y(1)}L{_x(1)} {_y(0)}" stroke="#999" stroke-dasharray="4 4"/>'
    middle = (_y(0) + _y(1)) / 2
    yield (
        f'<text x="{_x(0.5)}" y="{HEIGHT - 18}" text-anchor="middle">'
        "refused when the answer was removed</text>"
    )
    yield (
        f'<text transform="translate(22 {middle}) rotate(-90)" text-anchor="middle">'
        "answered when answerable</text>"
    )


def _curve(trial: Trial, colour: str) -> Iterator[str]:
    points = " ".join(f"{_x(one.removed)},{_y(one.answered)}" for one in curve(trial))
    yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
    if trial.rule:
        one = trial.at(trial.rule.threshold)
        yield (
            f'<circle cx="{_x(one.removed)}" cy="{_y(one.answered)}" r="5" fill="{colour}" '
            'stroke="#fff" stroke-width="1.5"/>'
        )


def _legend(trials: Sequence[Trial]) -> Iterator[str]:
    """In the lower left corner, which no line that is better than chance reaches."""
    marks = ['<path d="M0 -4h22" stroke="#999" stroke-dasharray="4 4"/>']
    names = ["chance"]
    if any(trial.rule for trial in trials):
        marks.append('<circle cx="11" cy="-4" r="5" fill="#666"/>')
        thresholds = dict.fromkeys(f"{t.rule.threshold:g}" for t in trials if t.rule)
        names.append(f"threshold in force, {', '.join(thresholds)}")
    for number, trial in enumerate(trials):
        marks.append(f'<path d="M0 -4h22" stroke="{_colour(number)}" stroke-width="2"/>')
        names.append(f"{trial.dataset}, AUC {trial.areas()['removed']:.2f}")
    top = _y(0) - 14 - 20 * (len(names) - 1)
    for number, (mark, name) in enumerate(zip(marks, names, strict=True)):
        yield f'<g transform="translate({_x(0) + 14} {top + 20 * number})">{mark}'
        yield f'<text x="30">{escape(name)}</text></g>'
