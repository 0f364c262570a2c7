"""What is released works where nothing else is installed."""

import subprocess
import sys
import venv
from pathlib import Path

HOME = Path(__file__).parents[2]


def test_the_wheel_runs_the_demo_in_an_empty_environment(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--quiet", "--outdir", str(tmp_path / "dist"), str(HOME)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("improvable-*.whl")
    (source,) = (tmp_path / "dist").glob("improvable-*.tar.gz")
    assert source.stat().st_size < 2_000_000, "no generated bulk is released"
    venv.create(tmp_path / "empty")
    programs = tmp_path / "empty" / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python")]
    # As in the Makefile: what is imported is compiled then, and that is a small part of what is installed.
    install = [*pip, "install", "--quiet", "--no-compile", "--constraint", str(HOME / "constraints.txt"), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    demo = subprocess.run(
        [str(programs / "improvable"), "demo", "--quick"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert demo.stdout.startswith("REAL data: 17,067 adults"), "the survey is in the wheel"
    assert "REJECTED at level 0.05" in demo.stdout
    assert demo.stderr == ""
    shown = subprocess.run([str(programs / "improvable"), "--version"], capture_output=True, text=True, check=True)
    assert wheel.name.split("-")[1] in shown.stdout


def test_help_needs_no_heavy_library() -> None:
    """What is imported before a command is chosen decides how long --help takes."""
    code = "import sys, improvable.cli; print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    heavy = ["sklearn", "scipy.special", "scipy.stats", "altair", "skrub", "highspy", "pandas", "pyarrow", "dask"]
    assert not [name for name in heavy if f"'{name}'" in loaded]  # `import scipy` alone loads no part of it
