"""Numbers as every output prints them."""

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal

LARGE = 1e15  # from here on a float has fewer digits than its fixed notation would show


def p_text(p_value: float, draws: int) -> str:
    """Format a p-value; where no draw counts it is less than one in `draws`, never
    zero.

    >>> p_text(0.0, 10_000), p_text(0.0003, 10_000), p_text(0.25, 10_000)
    ('< 0.0001', '0.0003', '0.2500')
    """
    digits = max(4, math.ceil(math.log10(draws)))
    if p_value == 0:
        return f"< {math.ceil(10**digits / draws) / 10**digits:.{digits}f}".rstrip("0")
    return f"{p_value:.{digits}f}"


def p_equals(text: str) -> str:
    """A formatted p-value with the sign it takes in a sentence.

    >>> p_equals("0.0712"), p_equals("< 0.0001")
    ('p = 0.0712', 'p < 0.0001')
    """
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def value_text(value: float | None) -> str:
    """Format an estimate with enough digits to compare; halves round up, as readers do
    who check by hand.

    >>> value_text(6.5625), value_text(1234.5678), value_text(-0.0001), value_text(None)
    ('6.563', '1234.6', '0.000', 'none')
    """
    if value is None:
        return "none"
    if abs(value) >= LARGE:
        return f"{value:.6g}"
    digits = 0 if abs(value) >= 10_000 else 1 if abs(value) >= 100 else 3
    rounded = Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    # nothing is minus zero
    return f"{rounded or abs(rounded):{',' if digits == 0 else ''}f}"


def bound_text(value: float | None) -> str:
    """One end of an interval, or that the draws set none."""
    return "not bounded" if value is None else value_text(value)


def ends_text(low: float | None, high: float | None) -> str:
    """An interval in words.

    >>> ends_text(1.5, 2), ends_text(None, 2), ends_text(None, None)
    ('1.500 to 2.000', 'not bounded to 2.000', 'not bounded')
    """
    return (
        "not bounded"
        if low is None and high is None
        else f"{bound_text(low)} to {bound_text(high)}"
    )


def percent(share: float) -> str:
    """A share in percent, to four digits.

    >>> percent(0.05), percent(0.1234)
    ('5%', '12.34%')
    """
    return f"{100 * share:.4g}%"


def whole_percents(shares: Sequence[float]) -> list[int]:
    """Shares of a whole in whole percents that add up to 100, by the largest
    remainders.

    >>> whole_percents([0.476, 0.297, 0.227])
    [47, 30, 23]
    """
    down = [int(100 * share) for share in shares]
    order = sorted(
        range(len(down)), key=lambda place: down[place] - 100 * shares[place]
    )
    return [
        one + (order.index(place) < 100 - sum(down)) for place, one in enumerate(down)
    ]


def arrow(shares: Mapping[str, float]) -> str:
    """Shares under the status quo and under the candidate.

    >>> arrow({"status_quo": 0.1, "candidate": 0.1256})
    '10.0% → 12.6%'
    """
    return f"{shares['status_quo']:.1%} → {shares['candidate']:.1%}"


def confidence(alpha: float) -> str:
    """The confidence of intervals and bounds, in percent."""
    return f"{100 * (1 - alpha):g}%"


def capital(text: str) -> str:
    """Capitalize the first letter only."""
    return text[:1].upper() + text[1:]


def number_or_null(value: float) -> float | None:
    """JSON has no NaN and no infinity: what is undefined is null."""
    return float(value) if math.isfinite(value) else None


def steady(value: float) -> float:
    """Six digits: the last ones of a variance differ between machines, and a result
    must not.
    """
    return float(f"{value:.6g}")
