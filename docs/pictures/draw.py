"""Draw the pictures of the README and the documentation again: `make pictures`."""

import runpy
from pathlib import Path

import improvable
from improvable.report import plots
from improvable.studies.game.game import linear_costs, play
from improvable.studies.game.mixing import BetaMixing
from improvable.studies.game.picture import picture
from improvable.studies.power.appendix_e import appendix_e, curve_rows

HERE = Path(__file__).parent


def main() -> None:
    audit = improvable.audit(
        improvable.datasets.care_management(),
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.03),
        rule="linear",
        features=improvable.datasets.CARE_MANAGEMENT_COVARIATES,
        n_jobs=-1,
    )
    for name in ("dumbbells", "utilities", "surface", "improvement_map", "people", "p_values"):
        plots.save_chart(audit.plot(name), HERE / f"{name}.svg")
    curves = [
        row | {"series": f"n = {row['size']}", "variant": row["gap"]} for row in curve_rows(appendix_e(workers=2))
    ]
    power = plots.power_curves(
        curves,
        x_title="mean gap of the candidate (eta); the status quo's is 1.52",
        title="Appendix E: how often the fairness test rejects",
        subtitle=["Absolute: the paper's statistic. Signed: ours. Left: a fairer candidate."],
        level=0.05,
        marks=[1.52],
    )
    plots.save_chart(power, HERE / "power.svg")
    runpy.run_path(str(HERE / "figure_1.py"), run_name="__main__")
    game = play(*linear_costs(0.001, 7), splits=7, mixing=BetaMixing(0.3))
    plots.save_chart(picture(game), HERE / "repetitions.svg")


if __name__ == "__main__":
    main()
