"""A document as text: a format is a template with a macro for each block, and how it
escapes a string.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from improvable.report.blocks import Block, flat
from improvable.report.document import Document

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class Format:
    """A format: its suffix, how it escapes a string, and what its templates call.

    Nothing from data can be markup: templates escape every string but `Markup`, which
    macros return.
    """

    suffix: str
    escape: Callable[[str], str]
    called: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    @cached_property
    def _room(self) -> "Environment":
        from jinja2 import Environment, PackageLoader, StrictUndefined

        room = Environment(
            loader=PackageLoader("improvable.report"),
            autoescape=True,
            finalize=self._escaped,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        room.globals |= {**self.called, "write": self.write}
        return room

    def _escaped(self, value: Any) -> Any:
        return (
            Markup(self.escape(value))
            if isinstance(value, str) and not isinstance(value, Markup)
            else value
        )

    def write(self, block: Block, macro: str = "") -> Markup:
        """One block, by the macro of its name or by another one."""
        macros = self._room.get_template(f"blocks.{self.suffix}.j2").module
        return Markup(
            getattr(macros, macro or type(block).__name__.lower())(block).strip()
        )

    def parts(self, document: Document) -> str:
        """All blocks in the order they are read, without empty ones."""
        return "\n\n".join(filter(None, map(self.write, flat(document.blocks)))) + "\n"

    def page(self, template: str, **facts: Any) -> str:
        """A page of which a template is the frame."""
        return self._room.get_template(f"{template}.{self.suffix}.j2").render(facts)
