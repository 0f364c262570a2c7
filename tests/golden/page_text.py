"""The words and numbers of an HTML page, without its style: a line for each block."""

from html.parser import HTMLParser

UNREAD = ("style", "script", "title")
BLOCKS = (
    *("p", "div", "section", "li", "dt", "dd", "h1", "h2", "h3", "tr"),
    *("caption", "figcaption", "summary", "pre"),
)
CELLS = ("td", "th")
SPACED = ("span", "tspan", "label", "output")
PICTURE = "picture: "


class _PageText(HTMLParser):
    """Collects text; a picture is one line, and a row of a table is one."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.line = ""
        self.unread = 0
        self.is_picture = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in UNREAD:
            self.unread += 1
        elif tag == "svg":
            self.end_line()
            self.is_picture = True
        elif tag in CELLS and self.line.strip():
            self.line += " | "
        elif tag in BLOCKS:
            self.end_line()

    def handle_endtag(self, tag: str) -> None:
        if tag in UNREAD:
            self.unread -= 1
        elif tag == "svg":
            self.is_picture = False
            self.line = f"{PICTURE}{self.line}"
            self.end_line()
        elif tag == "text" and self.is_picture:
            self.line += " | "
        elif tag in SPACED:
            self.line += " "
        elif tag in BLOCKS:
            self.end_line()

    def handle_data(self, data: str) -> None:
        if not self.unread:
            self.line += data

    def end_line(self) -> None:
        if self.is_picture:
            return
        line = " ".join(self.line.split())
        if line:
            self.lines.append(line)
        self.line = ""


def read_page(html: str) -> str:
    """What a reader sees of a page.

    A picture that stands there twice, for wide and narrow screens, is kept once.

    >>> read_page("<h1>Yes</h1><style>p {}</style><p>p is <b>.01</b>.</p>")
    'Yes\\np is .01.'
    """
    page = _PageText()
    page.feed(html)
    page.end_line()
    lines: list[str] = []
    for line in page.lines:
        follows_picture = bool(lines) and lines[-1].startswith(PICTURE)
        if not (line.startswith(PICTURE) and follows_picture):
            lines.append(line)
    return "\n".join(lines)
