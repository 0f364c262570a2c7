"""What each kind of caution means for the reader."""

EXPLAINED = {
    "nobody": "Nobody is selected, so there is no mean. The repetition counts against rejection.",
    "few": "The test relies on large samples (Assumption 2). With few people in a mean, its error rate is not "
    "guaranteed.",
    "weights": "Few rows carry most of the weight, so that a mean rests on few people.",
    "differing": "The whole comparison rests on these rows. Chance decides what so few of them show.",
    "skewed": "A few large outcomes can decide such a mean, and a sample that misses them looks better than the truth.",
    "code": "A rule of this package cannot act on its own results; code can try to. See what is guaranteed.",
    "copies": "Noise looks like an improvement where a candidate has seen the people on whom it is tested.",
    "alike": "Different people may be the same in coarse features. Among copies, noise looks like an improvement.",
    "near twins": "A candidate may be tested on people that it learned from.",
    "margin": "A test near 0 or 1 needs the variance that its own null has.",
    "lever easy": "The settings themselves make it easy to show an improvement.",
    "lever": "The settings themselves make it unlikely to show an improvement.",
    "degenerate": "The test needs some variation (Assumption 3). If both algorithms make the same decisions, there "
    "is none.",
    "undefined": "In such a draw nobody in some group was selected. It counts against rejection, which keeps the test "
    "cautious.",
    "gap": "If the status quo has no gap, there is nothing to narrow, and the test's error rate is not guaranteed "
    "(Assumption 1).",
    "capacity": "The algorithm does not select the share it was given, so an improvement may come from that alone. The "
    "test compares the algorithms as they decide here.",
    "shares": "The algorithms select different shares of rows. The test compares them as they decide here.",
    "dropped": "The result holds for the rows that remain. If rows are missing for a reason, it may not hold for all.",
    "group note": "This is how the groups were read.",
    "groups": "The result holds for the groups that were kept.",
    "spanning": "Whole clusters are resampled, so rows that belong together are never treated as independent.",
    "useless": "These columns cannot help to predict anything.",
    "ids": "A rule would memorize a column that identifies rows, and it says nothing about new rows.",
    "near outcome": "A feature that is recorded after the decision, or made from the outcome, tells a candidate the "
    "answer. No result rests on such a candidate.",
    "near group": "Such a feature is a proxy of the group.",
    "together": "Features that together tell the group are a proxy of it.",
    "direction": "If the outcomes point the other way, every comparison here is the wrong way around.",
    "perfect": "Real outcomes are hardly ever this predictable.",
    "repeats": "Rows of one person are not independent; treated as if they were, p-values are too small.",
    "codes": "Averages over a code for missing mean nothing.",
    "levels": "The same level, spelled in two ways, is read as two.",
    "text numbers": "Read as text, numbers lose their order.",
    "stray text": "Read as text, numbers lose their order.",
    "no candidate for a block": "The block's rows count as they are, which is no improvement.",
    "no candidate": "The repetition counts against rejection.",
}


def meaning(kind: str) -> str:
    """What a kind of caution means; kinds begin with the words of `EXPLAINED`.

    Examples
    --------
    >>> meaning("no candidate")
    'The repetition counts against rejection.'
    """
    return next((text for name, text in EXPLAINED.items() if f"{kind} ".startswith(f"{name} ")), "")
