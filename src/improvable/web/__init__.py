"""The local page: `improvable serve` for people who do not program.

`app` puts the parts together; `pages/` has one file for each page; `guard` decides who may ask; `cases` keeps what was
answered and found in the served folder; `commands` and `jobs` run our own command line, each run in its own process.
"""

from improvable.web.serving import serve

__all__ = ["serve"]
