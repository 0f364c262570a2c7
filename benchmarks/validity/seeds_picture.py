"""A picture of p-values over seeds: the same rows audited again and again, forward and
by the paper's split.
"""

import math

from validity.study import ALPHA, Found

WIDTH, HEIGHT, LEFT, TOP = 640, 220, 110, 40
SMALLEST = 0.001
LANES = (("forward", "forward"), ("split", "paper's split"))


def place(p: float) -> float:
    """Where a p-value stands on the logarithmic axis."""
    share = math.log10(max(p, SMALLEST) / SMALLEST) / -math.log10(SMALLEST)
    return LEFT + share * (WIDTH - LEFT - 20)


def draw_seeds(found: Found) -> str:
    """An SVG with one dot per seed; a line in each lane stands where rejection
    begins.
    """
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
            f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            'font-family="sans-serif" font-size="13">'
        ),
        (
            f"<title>p-values of one sample over {found.samples} seeds, forward and by "
            "the paper's split</title>"
        ),
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        (
            f'<text x="{LEFT}" y="22">p-value of the audit, one dot per seed; the line '
            "is what it must be below</text>"
        ),
    ]
    for lane, (name, words) in enumerate(LANES):
        middle = TOP + 35 + 70 * lane
        parts.append(
            f'<text x="{LEFT - 12}" y="{middle + 5}" text-anchor="end">{words}</text>'
        )
        x = place(ALPHA / 2)
        parts.append(
            f'<path d="M{x:.1f},{middle - 30}v60" stroke="#b2182b" stroke-width="2"/>'
        )
        for i, p in enumerate(found.of(name)):
            y = middle - 22 + 44 * ((i * 0.618034) % 1.0)
            parts.append(
                f'<circle cx="{place(p):.1f}" cy="{y:.1f}" r="4" fill="#2166ac" '
                'fill-opacity="0.55"/>'
            )
    foot = TOP + 70 * len(LANES) + 8
    parts.append(f'<path d="M{LEFT},{foot - 6}H{WIDTH - 20}" stroke="#888"/>')
    for tick in (0.001, 0.01, 0.05, 0.1, 0.5, 1.0):
        label = f"{'≤ ' if tick == SMALLEST else ''}{tick:g}"
        parts.append(
            f'<text x="{place(tick):.1f}" y="{foot + 12}" '
            f'text-anchor="middle">{label}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"
