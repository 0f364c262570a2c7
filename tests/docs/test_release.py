"""What is released works where nothing else is installed."""

import re
import subprocess
import sys
import tomllib
import venv
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import yaml
from packaging.requirements import Requirement

HOME = Path(__file__).parents[2]


def declared(
    package: Distribution, extras: frozenset[str] = frozenset()
) -> dict[str, Distribution]:
    """What a package says it needs, and what that needs, each in a version that is said
    to do.
    """
    found: dict[str, Distribution] = {}
    open_, seen = [(package, extras)], set[tuple[str, frozenset[str]]]()
    while open_:
        one, asked = open_.pop()
        for need in map(Requirement, one.requires or ()):
            if need.marker and not any(
                need.marker.evaluate({"extra": extra}) for extra in asked | {""}
            ):
                continue
            installed, wanted = distribution(need.name), frozenset(need.extras)
            assert need.specifier.contains(installed.version, prereleases=True), (
                f"{one.name} needs {need}"
            )
            found[installed.name] = installed
            if (installed.name, wanted) not in seen:
                seen.add((installed.name, wanted))
                open_.append((installed, wanted))
    return found


def link_into(site: Path, package: Distribution) -> None:
    """Make an installed package importable elsewhere: its folders and files, and
    nothing that stands beside them.
    """
    for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
        if not (site / name).exists():
            (site / name).symlink_to(Path(str(package.locate_file(name))))


def test_the_wheel_runs_the_demo_in_an_empty_environment(tmp_path: Path) -> None:
    build = [
        sys.executable,
        "-m",
        "build",
        "--quiet",
        "--outdir",
        str(tmp_path / "dist"),
        str(HOME),
    ]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("improvable-*.whl")
    (source,) = (tmp_path / "dist").glob("improvable-*.tar.gz")
    assert source.stat().st_size < 2_000_000, "no generated bulk is released"
    venv.create(tmp_path / "empty")
    programs = tmp_path / "empty" / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python")]
    install = [*pip, "install", "--quiet", "--no-compile", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    # That pip finds what is declared is seen whenever `make` fills an environment. Here
    # it is linked from that one.
    (site,) = (tmp_path / "empty" / "lib").glob("python*/site-packages")
    (released,) = (
        one for one in distributions(path=[str(site)]) if one.name == "improvable"
    )
    needed = declared(released)
    assert "scikit-learn" in needed
    assert "pytest" not in needed
    for package in needed.values():
        link_into(site, package)
    demo = subprocess.run(
        [str(programs / "improvable"), "demo", "--quick"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert demo.stdout.startswith("REAL data: 17,067 adults"), (
        "the survey is in the wheel"
    )
    assert "REJECTED at level 0.05" in demo.stdout
    assert demo.stderr == ""
    shown = subprocess.run(
        [str(programs / "improvable"), "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert wheel.name.split("-")[1] in shown.stdout


def test_help_needs_no_heavy_library() -> None:
    """What is imported before a command is chosen decides how long --help takes."""
    code = "import sys, improvable.cli; print(sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    heavy = [
        "sklearn",
        "scipy.special",
        "scipy.stats",
        "vl_convert",
        "skrub",
        "highspy",
        "pandas",
        "pyarrow",
        "dask",
    ]
    # `import scipy` alone loads no part of it
    assert not [name for name in heavy if f"'{name}'" in loaded]


def test_the_conda_recipe_needs_what_the_package_needs() -> None:
    declared = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))
    project = declared["project"]
    recipe = yaml.safe_load(
        (HOME / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    )
    assert recipe["package"] == {"name": project["name"], "version": project["version"]}
    needed = [f"python{project['requires-python']}", *project["dependencies"]]
    assert [one.replace(" ", "") for one in recipe["requirements"]["run"]] == needed
    build = declared["build-system"]["requires"]
    assert [one.replace(" ", "") for one in recipe["requirements"]["host"]] == [
        needed[0],
        "pip",
        *build,
    ]
    assert recipe["build"]["entry_points"] == [
        f"{name} = {at}" for name, at in project["scripts"].items()
    ]
    assert recipe["about"]["license"] == project["license"]


def test_nothing_says_to_install_a_name_that_is_not_ours() -> None:
    """The package is on no index: who installs it by its bare name gets whatever
    somebody put there.
    """
    files = [
        *HOME.glob("*.md"),
        *(HOME / "docs").rglob("*.md"),
        *(HOME / "src").rglob("*.*"),
        *HOME.glob("examples/**/*.py"),
    ]
    found = [
        path for path in files if path.suffix in (".md", ".py", ".j2", ".html", ".js")
    ]
    assert len(found) > 200
    bare = re.compile(
        r"(?:pip|pipx|uv|conda) (?:tool )?(?:install|add|run)[^\n]*[ "
        r"'\"]improvable(?:\[|\b(?!/))"
    )
    assert not [path for path in found if bare.search(path.read_text(encoding="utf-8"))]


def test_what_decides_here_decides_on_github() -> None:
    flow = yaml.safe_load(
        (HOME / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    )
    (job,) = flow["jobs"].values()
    (command,) = (step["run"] for step in job["steps"] if "run" in step)
    assert command.endswith(" .ci/run")
    needed = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]["requires-python"]
    pythons = job["strategy"]["matrix"]["python"]
    assert pythons[0] == needed.removeprefix(">=")
    assert len(pythons) > 1
