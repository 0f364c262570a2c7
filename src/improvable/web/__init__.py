"""The local page: `improvable serve` for people who do not program.

`app` starts it and puts it together; `site` draws pages, `pages` and `pages_run` are they; `guard` decides who may
ask; `files` keeps what was answered and found in the served folder; `answers` turns answers into options of our own
command line, and `jobs` runs it, each command in a process of its own.
"""
