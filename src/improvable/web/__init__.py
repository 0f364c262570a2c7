"""The local page: `improvable serve` for people who do not program.

`app` starts it and decides who may ask; `site` draws the pages, which are in `pages`
and `pages_run`; `files` keeps answers and results in the served folder; `answers` turns
answers into options of our own command line, and `jobs` runs it, each command in a
process of its own.
"""
