"""Other formats of a finished run's report.

`python -m improvable.web.documents RUN FILE` writes it, .pdf or .docx; a program of its own, so that the server neither
loads nor waits for what makes them.
"""

import sys

from improvable.errors import ImprovableError
from improvable.results.loading import load


def main(run: str, file: str) -> int:
    """Write the report, or one line that says why there is none."""
    try:
        load(run).report(file)
    except ImprovableError as error:
        print(f"improvable: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
