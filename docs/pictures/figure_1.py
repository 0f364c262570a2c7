"""Figure 1 of the paper as a picture, naming the functions that do each step: `python
docs/pictures/figure_1.py`.
"""

from html import escape
from pathlib import Path

HERE = Path(__file__).parent
WIDTH, HEIGHT = 860, 372
BOX_WIDTH, BOX_HEIGHT, TOP = 178, 148, 62
INK, LINE, PALE, WHITE = "#1a1a1a", "#444444", "#f0f0f0", "#ffffff"

STEPS = (
    (
        "1  split",
        ("A random share of the rows", "is for training,", "the rest for testing."),
        ('seed=, scheme="split",', "repetitions=,", "train_fraction="),
    ),
    (
        "2  select",
        ("The rule sees the training", "rows alone, and returns", "a candidate."),
        ("rule=", "SelectionRule.select"),
    ),
    (
        "3  compare",
        (
            "On the test rows: accuracy",
            "of each group, and the gap.",
            "The largest p-value counts.",
        ),
        ("compare(...)", "Comparison.p_value"),
    ),
)
COMBINE = (
    "4  combine",
    ("Reject if the lower median of the K p-values is below \u03b1/2.",),
    ("Audit.reject: Audit.p_value < Audit.level",),
)


def text(
    x: float,
    y: float,
    words: str,
    *,
    size: int = 13,
    bold: bool = False,
    code: bool = False,
    middle: bool = False,
) -> str:
    """One line of text."""
    family = (
        "ui-monospace, Menlo, Consolas, monospace"
        if code
        else "system-ui, Helvetica, Arial, sans-serif"
    )
    weight = ' font-weight="700"' if bold else ""
    anchor = ' text-anchor="middle"' if middle else ""
    look = (
        f'font-family="{family}" font-size="{size}"{weight}{anchor} fill="{INK}" '
        'xml:space="preserve"'
    )
    return f'<text x="{x:g}" y="{y:g}" {look}>{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, fill: str = WHITE) -> str:
    look = f'rx="6" fill="{fill}" stroke="{LINE}" stroke-width="1.5"'
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" {look}/>'


def arrow(*points: tuple[float, float]) -> str:
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return (
        f'<polyline points="{path}" fill="none" stroke="{LINE}" stroke-width="1.8" '
        'marker-end="url(#head)"/>'
    )


def step(
    x: float,
    y: float,
    content: tuple[str, tuple[str, ...], tuple[str, ...]],
    width: float,
    height: float,
) -> list[str]:
    """A box with its name, what happens there, and below a rule what does it."""
    name, words, code = content
    parts = [box(x, y, width, height), text(x + 12, y + 24, name, size=15, bold=True)]
    parts += [text(x + 12, y + 46 + 17 * i, line) for i, line in enumerate(words)]
    foot = y + height - 18 * len(code) - 8
    parts.append(
        f'<line x1="{x:g}" y1="{foot:g}" x2="{x + width:g}" y2="{foot:g}" '
        f'stroke="{LINE}" stroke-width="0.8"/>'
    )
    return parts + [
        text(x + 12, foot + 17 + 18 * i, line, size=12, code=True)
        for i, line in enumerate(code)
    ]


def figure_1() -> str:
    """The picture as the text of an SVG file; black on white, so that it prints in
    gray.
    """
    title = "The procedure: split, select and compare, K times over; then combine"
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{title}">'
        ),
        f"<title>{title}</title>",
        (
            '<defs><marker id="head" markerUnits="userSpaceOnUse" markerWidth="9" '
            'markerHeight="8" refX="8" refY="4" orient="auto"><path d="M0,0 L9,4 L0,8 '
            f'z" fill="{LINE}"/></marker></defs>'
        ),
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{WHITE}"/>',
    ]
    # What goes in: rows, a status quo and a rule.
    parts += [
        box(14, TOP, 128, BOX_HEIGHT, PALE),
        text(26, TOP + 24, "given", size=15, bold=True),
    ]
    parts += [
        text(26, TOP + 46 + 17 * i, line)
        for i, line in enumerate(
            ("rows: Y, G, X", "a status quo", "a rule", "a size: the deltas")
        )
    ]
    parts.append(
        text(26, TOP + BOX_HEIGHT - 12, "audit(data, ...)", size=12, code=True)
    )
    # The loop.
    left = 172
    parts.append(
        f'<rect x="{left}" y="{TOP - 44}" width="{WIDTH - left - 14}" '
        f'height="{BOX_HEIGHT + 70}" rx="10" fill="none" stroke="{LINE}" '
        'stroke-width="1.5" stroke-dasharray="6 4"/>'
    )
    parts.append(
        text(
            left + 16,
            TOP - 20,
            "K times, each with its own random division of the rows",
            bold=True,
        )
    )
    xs = [left + 24 + i * (BOX_WIDTH + 46) for i in range(3)]
    for x, content in zip(xs, STEPS, strict=True):
        parts += step(x, TOP, content, BOX_WIDTH, BOX_HEIGHT)
    middle = TOP + BOX_HEIGHT / 2
    parts.append(arrow((142, middle), (xs[0] - 2, middle)))
    parts.append(arrow((xs[0] + BOX_WIDTH, middle - 12), (xs[1] - 2, middle - 12)))
    parts.append(
        text(xs[0] + BOX_WIDTH + 22, middle - 19, "train", size=11, middle=True)
    )
    parts.append(arrow((xs[1] + BOX_WIDTH, middle - 12), (xs[2] - 2, middle - 12)))
    parts.append(
        text(xs[1] + BOX_WIDTH + 22, middle - 19, "candidate", size=9, middle=True)
    )
    under = TOP + BOX_HEIGHT + 14
    parts.append(
        arrow(
            (xs[0] + 89, TOP + BOX_HEIGHT),
            (xs[0] + 89, under),
            (xs[2] + 60, under),
            (xs[2] + 60, TOP + BOX_HEIGHT + 2),
        )
    )
    parts.append(text(xs[1] + 89, under - 4, "test rows", size=11, middle=True))
    # What comes out.
    last, low = xs[2] + 140, 272
    parts.append(arrow((last, TOP + BOX_HEIGHT), (last, low - 2)))
    parts.append(text(last - 44, low - 9, "K p-values", size=11, middle=True))
    parts += step(xs[1] - 30, low, COMBINE, WIDTH - 14 - (xs[1] - 30), 86)
    parts += [
        box(14, low, 344, 86, PALE),
        text(26, low + 24, "then", size=15, bold=True),
    ]
    parts += [
        text(26, low + 46, "the rule on all rows: the algorithm to use instead"),
        text(26, low + 75, "Audit.refit()", size=12, code=True),
    ]
    parts.append(arrow((xs[1] - 30, low + 43), (360, low + 43)))
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    (HERE / "procedure.svg").write_text(figure_1(), encoding="utf-8")
