"""Every format says the same: the same words and numbers in the same order, and text
from data only ever text.
"""

import html
import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docx
import pytest

import improvable
from improvable.report.blocks import Appendix, Picture, Table, flat
from improvable.report.document import Document, make_document
from improvable.report.html import html_document
from improvable.report.markdown import MARKDOWN
from improvable.report.pdf import pdf_document, typst_source
from improvable.report.word import word_document
from improvable.report.write import write_report
from reported import (
    EVIL,
    SHAPES,
    compare_case,
    make_audit,
    make_evil,
    make_labeled,
    many_groups,
)

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?%?")


def numbers_of(document: Document) -> list[str]:
    """The numbers of tables, tiles and sentences, in the order they are read; pictures
    apart.
    """
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, str):
            found.extend(NUMBER.findall(value))
        elif isinstance(value, tuple):
            for one in value:
                walk(one)

    for block in flat(document.blocks):
        if not isinstance(block, Picture | Appendix):
            for name, value in vars(block).items():
                if name not in ("name", "closing", "marked", "level", "spans"):
                    walk(value)
    return found


def html_text(document: Document) -> str:
    page = html_document(document).split("<main>")[1]
    page = re.sub(r"<(svg|script).*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", " ", page))


def markdown_text(document: Document) -> str:
    return html.unescape(re.sub(r"\\(.)", r"\1", MARKDOWN.parts(document)))


def typst_text(document: Document) -> str:
    source = typst_source(document).split("= heading", 1)[-1]
    return "\n".join(
        re.sub(r'\\(["\\])', r"\1", one)
        for one in re.findall(r'"((?:[^"\\]|\\.)*)"', source)
    )


def word_text(document: Document) -> str:
    page, parts = docx.Document(io.BytesIO(word_document(document))), []
    for part in page.element.body.iterchildren():
        if part.tag.endswith("}tbl"):
            grid = docx.table.Table(part, page)
            parts += [cell.text for row in grid.rows for cell in row.cells]
        else:
            parts.append(
                "".join(
                    node.text or "" for node in part.iter() if node.tag.endswith("}t")
                )
            )
    return "\n".join(parts)


WRITERS: dict[str, Callable[[Document], str]] = {
    "html": html_text,
    "markdown": markdown_text,
    "typst": typst_text,
    "word": word_text,
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("result", [make_labeled, lambda: many_groups(5)])
def test_numbers_are_the_same_in_every_format(
    name: str, result: Callable[[], improvable.Audit]
) -> None:
    document = make_document(result(), command="improvable audit x", data="x.csv")
    expected, found = (
        numbers_of(document),
        iter(NUMBER.findall(WRITERS[name](document))),
    )
    missing = [number for number in expected if number not in found]
    assert len(expected) > 200
    assert missing == [], "in the same order, none left out"


@pytest.mark.parametrize("name", WRITERS)
def test_every_cell_of_every_table_is_written(name: str) -> None:
    document = make_document(many_groups(5))
    text = " ".join(WRITERS[name](document).split())
    for block in flat(document.blocks):
        if isinstance(block, Table):
            for cell in (cell for row in block.rows for cell in row):
                assert cell in text


@pytest.mark.parametrize("name", ["html", "typst", "word", "markdown"])
def test_text_from_data_is_only_text(name: str) -> None:
    document = make_document(make_evil(), command=EVIL)
    assert EVIL in " ".join(WRITERS[name](document).split())
    if name == "html":
        assert "<script>alert" not in html_document(document)


@pytest.mark.parametrize("result", [make_evil, lambda: many_groups(10)])
def test_pdf_and_word_can_be_made_of_any_result(
    result: Callable[[], improvable.Audit],
) -> None:
    document = make_document(result(), command=EVIL)
    content = pdf_document(document)
    assert content.startswith(b"%PDF")
    assert content == pdf_document(document), "the same result, the same file"
    package = zipfile.ZipFile(io.BytesIO(word_document(document)))
    pictures = [name for name in package.namelist() if name.startswith("word/media/")]
    assert len(pictures) == sum(
        isinstance(block, Picture) for block in flat(document.blocks)
    )
    described = re.findall(
        r'descr="([^"]+)"', package.read("word/document.xml").decode()
    )
    assert len(described) == len(pictures)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_result_can_be_set(shape: dict[str, Any]) -> None:
    document = make_document(compare_case(**shape))
    assert pdf_document(document)
    assert MARKDOWN.parts(document)


@pytest.mark.parametrize("suffix", ["html", "pdf", "docx", "md"])
def test_the_ending_chooses_the_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"report.{suffix}"
    write_report(make_audit(), path)
    start = {"html": b"<!DOCTYPE", "pdf": b"%PDF", "docx": b"PK", "md": b"# Can"}[
        suffix
    ]
    assert path.read_bytes().startswith(start)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(("suffix", "extra"), [("pdf", "pdf"), ("docx", "word")])
def test_a_missing_package_is_one_line_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, extra: str
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(
        improvable.OptionError,
        match=re.escape(f"pip install 'path/to/the/clone[{extra}]'"),
    ):
        write_report(make_audit(), tmp_path / f"report.{suffix}")
    assert not list(tmp_path.iterdir())
