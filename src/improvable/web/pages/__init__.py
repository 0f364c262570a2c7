"""The pages, one file each, with the addresses that each answers."""

from improvable.web.pages import answer, columns, files, history, power, question, run, seal

ROUTES = [
    *files.ROUTES, *columns.ROUTES, *question.ROUTES, *power.ROUTES, *seal.ROUTES, *run.ROUTES, *answer.ROUTES,
    *history.ROUTES,
]  # fmt: skip
