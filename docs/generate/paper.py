"""The table in `explanation/paper.md`: every element of the paper, what does it here,
and the tests that show it.

A test says which elements it checks: `@pytest.mark.paper("Definition 2")`. The tests
are read, not run.
"""

import ast
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "paper.md"
TESTS = ROOT / "tests"
BEGIN, END = "<!-- elements -->", "<!-- end of elements -->"


@dataclass(frozen=True)
class Element:
    """One element of the paper.

    Parameters
    ----------
    name
        What it is called: "Definition 2". A marker names it.
    says
        What it says, in a few words.
    functions
        What does it here, as dotted names within `improvable`, or within `replication`
        at the repository's root.
    command
        The command, and its option if one decides; or `make replicate`.
    page
        The link to a page, where words answer it and no function.
    """

    name: str
    says: str
    functions: tuple[str, ...]
    command: str = ""
    page: str = ""


AUDIT, COMPARE, FRONTIER = (
    "procedure.api.audit",
    "procedure.api.compare",
    "results.frontier.Frontier",
)
GAME, PLAY = "studies.game", "studies.game.play"
REPLICATE, SPLITS = "replication.study.run_study", "replication.tables.split_rows"
MAKE = "make replicate"
PROGRAM = "algorithms.rules.linear.milp.solve"

ELEMENTS = (
    Element(
        "Equation 1",
        "a utility is a ratio of group means",
        ("question.utility.Utility",),
        "audit --accuracy",
    ),
    Element(
        "Definition 1", "more accurate; more fair", (AUDIT, COMPARE), "audit --ask"
    ),
    Element(
        "Remark 1",
        "one accuracy measure; several fairness measures",
        (AUDIT,),
        "audit --overall",
    ),
    Element("Remark 2", "one-sided fairness", (AUDIT,), "audit --protected"),
    Element(
        "Remark 3",
        "criteria of welfare",
        (),
        page="[what a verdict implies](guarantees.md#welfare)",
    ),
    Element(
        "Example 1",
        "classification rate",
        ("question.catalog.UTILITIES",),
        "audit --accuracy",
    ),
    Element(
        "Example 2", "calibration", ("question.catalog.UTILITIES",), "audit --accuracy"
    ),
    Element(
        "Example 3",
        "false positive rate",
        ("question.catalog.UTILITIES",),
        "audit --fairness",
    ),
    Element("Example 4", "profit", ("question.catalog.UTILITIES",), "audit --accuracy"),
    Element("Assumption 1", "the status quo has a gap", (COMPARE,), "compare"),
    Element(
        "Definition 2",
        "improvement by deltas, as ratios or differences",
        (COMPARE,),
        "audit --delta-accuracy",
    ),
    Element("Definition 3", "FA-dominance: all deltas zero", (COMPARE,), "compare"),
    Element(
        "Section 2",
        "a class of permissible algorithms",
        ("algorithms.constraints.Limits",),
        "audit --capacity",
    ),
    Element(
        "Section 3.1",
        "split, select, test, repeat, take the median",
        (AUDIT,),
        "audit --repetitions",
    ),
    Element("Figure 1", "the procedure as a flow chart", (AUDIT,), "audit"),
    Element(
        "Section 3.2",
        "the statistics, and utilities of general theta",
        (
            "inference.statistics.accuracy_statistic",
            "inference.statistics.gap_statistic",
            "inference.statistics.unfairness",
        ),
        "audit --gap",
    ),
    Element(
        "Example 5",
        "theta of the calibration utility",
        ("inference.statistics.utilities_of",),
        "compare",
    ),
    Element("Assumption 2", "utilities are bounded and smooth", (COMPARE,), "compare"),
    Element(
        "Assumption 3",
        "the statistics have a variance",
        ("inference.test.assess",),
        "compare",
    ),
    Element(
        "Theorem 1", "one comparison keeps its level", (COMPARE,), "compare --alpha"
    ),
    Element(
        "Corollary 1",
        "the median of splits keeps the level at alpha/2",
        ("inference.test.threshold_for",),
        "audit --alpha",
    ),
    Element(
        "Definition 4",
        "improvement convergence; rules that aim at the claim",
        ("studies.power.learning.learn",),
        "power",
    ),
    Element(
        "Theorem 2",
        "consistency; the candidate's gap stays above xi",
        ("inference.diagnostics.candidate_gaps",),
        "audit --json",
    ),
    Element(
        "Section 5.1",
        "the analyst repeats a procedure at a cost",
        (f"{GAME}.best_response",),
        "game --cost",
    ),
    Element("Definition 5", "more robust to manipulation", (PLAY,), "game"),
    Element(
        "Assumption 4",
        "a second try is worth its cost",
        (f"{GAME}.low_cost_assumption",),
        "game",
    ),
    Element(
        "Theorem 3",
        "many splits are more robust than one",
        (PLAY,),
        "game --repetitions",
    ),
    Element(
        "Proposition 1",
        "how many splits suffice for independent p-values",
        (f"{GAME}.hoeffding_repetitions", f"{GAME}.sufficient_repetitions"),
        "game",
    ),
    Element("Section 6", "the application", (REPLICATE,), MAKE),
    Element(
        "Figure 2",
        "utilities of both algorithms",
        ("replication.mean_utilities.mean_utilities",),
        MAKE,
    ),
    Element("Table 1", "seven splits, random forest", (SPLITS,), MAKE),
    Element(
        "Figure 3",
        "the deltas that the data support",
        (FRONTIER, "replication.surface.draw_surface"),
        "frontier --plot",
    ),
    Element(
        "Appendix A",
        "the bootstrap",
        ("inference.bootstrap.resample",),
        "audit --draws",
    ),
    Element(
        "Appendix B",
        "preliminary results",
        ("inference.test.assess", "inference.influence"),
        "compare",
    ),
    Element(
        "Proposition B.1",
        "intersection-union: the largest p-value decides",
        ("inference.test.assess",),
        "compare",
    ),
    Element(
        "Proposition B.2",
        "the linearized statistics are asymptotically normal",
        ("inference.influence",),
        "audit --method",
    ),
    Element(
        "Proposition B.3",
        "the statistics behave as linearized ones",
        ("inference.moments",),
        "audit --method",
    ),
    Element(
        "Proposition B.4",
        "the bootstrap with theta known is consistent",
        ("inference.bootstrap.resample",),
        "audit --draws",
    ),
    Element(
        "Proposition B.5",
        "the bootstrap with theta estimated is consistent",
        ("inference.bootstrap.resample",),
        "audit --draws",
    ),
    Element(
        "Appendix C",
        "proofs of Section 4: where the gap's fold is harmless",
        ("inference.statistics.unfairness",),
        "audit --gap",
    ),
    Element(
        "Appendix D",
        "proofs of Section 5, and where they need more",
        (f"{GAME}.sufficient_repetitions",),
        "game",
    ),
    Element(
        "Lemma D.1",
        "for K large enough the analyst rejects at most at alpha + epsilon",
        ("replication.lemma.lemma_bounds",),
        MAKE,
    ),
    Element(
        "Figure 4",
        "the analyst repeats at most m-bar times",
        (f"{GAME}.best_response", "replication.lemma.lemma_bounds"),
        "game",
    ),
    Element(
        "Lemma D.2",
        "repeating one split rejects more often than alpha",
        (f"{GAME}.rejection_probability",),
        "game",
    ),
    Element(
        "Lemma D.3",
        "one split against the median at equal attempts",
        (f"{GAME}.rejection_probability",),
        "game",
    ),
    Element(
        "Appendix E",
        "the simulation, and the same from one's own run",
        ("replication.appendix_e.appendix_e", "replication.from_run.power_from_run"),
        MAKE,
    ),
    Element(
        "Figure 5",
        "rejection probabilities of Appendix E",
        ("replication.appendix_e.curve_rows", "report.plots.curves.power_curves"),
        MAKE,
    ),
    Element(
        "Appendix F",
        "search for an improvement, with slack iota",
        (PROGRAM,),
        "audit --rule",
    ),
    Element(
        "Definition F.1",
        "linear classifiers",
        ("algorithms.rules.linear.rule.LinearRule",),
        "audit --rule",
    ),
    Element(
        "Section F.1",
        "mixed-integer program, classification utility",
        (PROGRAM,),
        "audit --rule",
    ),
    Element(
        "Proposition F.1",
        "mixed-integer program, calibration utility",
        (PROGRAM,),
        "audit --rule",
    ),
    Element("Appendix G", "the legal framework", (), page="[the legal page](law.md)"),
    Element("Appendix H.1", "other selection rules", (REPLICATE,), MAKE),
    Element(
        "Appendix H.2",
        "conditions of the same year as the decision",
        (REPLICATE,),
        MAKE,
    ),
    Element("Appendix H.3", "accuracy measured by cost", (REPLICATE,), MAKE),
    Element("Table 2", "seven splits, LASSO", (SPLITS,), MAKE),
    Element("Table 3", "seven splits, linear regression", (SPLITS,), MAKE),
    Element(
        "Figure 6",
        "utilities, conditions of the same year",
        ("replication.mean_utilities.mean_utilities",),
        MAKE,
    ),
    Element("Table 4", "same year, linear regression", (SPLITS,), MAKE),
    Element("Table 5", "same year, LASSO", (SPLITS,), MAKE),
    Element("Table 6", "same year, random forest", (SPLITS,), MAKE),
    Element(
        "Figure 7",
        "accuracy measured by cost",
        ("replication.surface.draw_surface",),
        MAKE,
    ),
)


@cache
def marked() -> dict[str, list[str]]:
    """The tests that name each element, as `tests/…/file.py::name`."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                for name in _named(node):
                    found[name].append(
                        f"{path.relative_to(ROOT).as_posix()}::{node.name}"
                    )
    return dict(found)


def _named(test: ast.FunctionDef) -> list[str]:
    calls = [one for one in test.decorator_list if isinstance(one, ast.Call)]
    marks = [one for one in calls if ast.unparse(one.func) == "pytest.mark.paper"]
    return [ast.literal_eval(word) for one in marks for word in one.args]


def table() -> str:
    """The table as the markers say."""
    tests = marked()
    lines = [
        "| paper | what it says | here | command | tests |",
        "|---|---|---|---|---|",
    ]
    for element in ELEMENTS:
        functions = ", ".join(f"`{name}`" for name in element.functions)
        here = functions or element.page
        words = (
            element.command
            if element.command in ("", MAKE)
            else f"improvable {element.command}"
        )
        command = f"`{words}`" if words else ""
        shown = "<br>".join(f"`{test}`" for test in tests.get(element.name, ()))
        lines.append(
            f"| {element.name} | {element.says} | {here} | {command} | {shown} |"
        )
    return "\n".join(lines)


def pages() -> dict[Path, str]:
    """The page with the table as it is now."""
    before = PAGE.read_text(encoding="utf-8")
    return {
        PAGE: re.sub(
            f"{BEGIN}.*?{END}",
            lambda _: f"{BEGIN}\n{table()}\n{END}",
            before,
            flags=re.DOTALL,
        )
    }
