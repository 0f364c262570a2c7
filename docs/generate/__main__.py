"""Writes all that is generated under `docs/`: ``python -m docs.generate``, or `make
pages`; a test compares.
"""

from pathlib import Path

from docs.generate import attacks, paper, reference, rules, schema, settings


def every_page() -> dict[Path, str]:
    """Every generated file, with what it should say."""
    parts = (settings, schema, reference, attacks, paper, rules)
    return {path: text for part in parts for path, text in part.pages().items()}


if __name__ == "__main__":
    for path, text in every_page().items():
        path.write_text(text, encoding="utf-8")
