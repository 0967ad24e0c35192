"""One line of a prompt as a template, which both writes the line and reads it back.

A template is text with slots and optional groups, such as
`Gene: {gene}[ — {gene_name}][ (family: {gene_family})]`. A group is written when any of its slots
has a value; a slot without one is then written `?`, so that what follows stays in its place.
Each value has the separators that may follow it encoded, so that reading is a single pass that
never turns back, in time linear in the line.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bed.errors import DataError
from bed.prompts.escaping import ENTITY, flexible
from bed.prompts.forms import TEXT, Form

__all__ = ["Line", "Slot", "is_absent"]

_TOKEN = re.compile(r"\{(\w+)(?::(\w+))?\}|([\[\]])|([^{}\[\]]+)")
_MISSING = "?"

Nodes = list[Any]
"""Literals (str), slots and groups (lists of the same)."""
Path = list[Any]
"""Literals and slots: the template with some of its groups."""


def is_absent(value: object) -> bool:
    """Return whether a field has nothing to print.

    Args:
        value: of a field; None, "" and an empty list stand for its absence.
    """
    return value is None or value == "" or value == ()


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """A place for a field's value.

    Attributes:
        name: of the field.
        form: how its value is printed and read.
    """

    name: str
    form: Form


@dataclass(frozen=True, slots=True)
class _Link:
    """A literal that may follow a slot, and the slot after it (None at the end of the line)."""

    literal: str
    slot: Slot | None


@dataclass(frozen=True, eq=False)
class Line:
    """A line of a stub or a target.

    Attributes:
        template: its text, slots and groups. A slot `{gene}` takes the form of that name from
            `forms`, or text; `{chronos:phrase}` the form "phrase".
        forms: forms by name.
        key: the field without which the line is left out; the first slot's unless named.
        is_outcome: whether the line tells the result, and is hidden with it.
        level: how deep it is indented.
        unless: fields that say the same better; with one of them the line is left out.
    """

    template: str
    forms: Mapping[str, Form] = field(default_factory=dict)
    key: str = ""
    is_outcome: bool = False
    level: int = 0
    unless: tuple[str, ...] = ()

    @cached_property
    def _nodes(self) -> Nodes:
        return _nodes(iter(_TOKEN.findall(self.template)), self.forms)

    @cached_property
    def _paths(self) -> list[Path]:
        return list(_paths(self._nodes))

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """The slots in order."""
        return tuple(node for node in self._paths[0] if isinstance(node, Slot))

    @cached_property
    def links(self) -> dict[Slot, list[_Link]]:
        """What may follow each slot."""
        return {slot: _links(slot, self._paths) for slot in self.slots}

    @cached_property
    def _finders(self) -> dict[Slot, re.Pattern[str] | None]:
        return {slot: _finder(self.links[slot]) for slot in self.slots}

    @cached_property
    def prefix(self) -> str:
        """The literal before the first slot: the line's label."""
        return self._nodes[0] if isinstance(self._nodes[0], str) else ""

    @cached_property
    def start(self) -> re.Pattern[str]:
        """The pattern of the prefix."""
        return re.compile(flexible(self.prefix))

    @cached_property
    def _label(self) -> re.Pattern[str]:
        label = self.prefix.rstrip()
        after = r"\s*+" if label.endswith((":", "=")) else r"(?:\s*+:\s*+|\s++|\Z)"
        return re.compile(flexible(label) + after, re.IGNORECASE)

    @cached_property
    def needed(self) -> str:
        """The field without which the line is left out; "" for a line without slots."""
        return self.key or (self.slots[0].name if self.slots else "")

    @property
    def is_heading(self) -> bool:
        """Whether it only opens the lines below it."""
        return not self.slots and self.template.endswith(":")

    def written(self, values: Mapping[str, Any]) -> str | None:
        """Return the line, or None without a value of its key.

        Args:
            values: what the slots may hold.

        Raises:
            DataError: for a value that its form cannot print, naming the field.
        """
        if self.needed and is_absent(values.get(self.needed)):
            return None
        if any(not is_absent(values.get(name)) for name in self.unless):
            return None
        return "".join(self._written(self._nodes, values))

    def _written(self, nodes: Nodes, values: Mapping[str, Any]) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, str):
                yield node
            elif isinstance(node, Slot):
                yield self._value(node, values.get(node.name))
            elif any(not is_absent(values.get(slot.name)) for slot in _slots(node)):
                yield from self._written(node, values)

    def _value(self, slot: Slot, value: object) -> str:
        if is_absent(value):
            return _MISSING
        separators = tuple(link.literal for link in self.links[slot] if link.slot)
        try:
            text = slot.form.write(value, separators)
        except DataError as error:
            raise DataError(f"field {slot.name!r}: {error}") from error
        return f"&#{ord(_MISSING)};" if text == _MISSING and self._may_miss(slot) else text

    def _may_miss(self, slot: Slot) -> bool:
        """Return whether `?` reads as no value: only where the line can do without it."""
        return slot.form.read is not None and slot.name != self.needed

    def blank(self, known: Mapping[str, Any]) -> str:
        """Return the line with a placeholder for each value that is not known.

        Args:
            known: the fields of the experiment, of which a line of its result may repeat some.
        """
        return "".join(
            node
            if isinstance(node, str)
            else self._value(node, known[node.name])
            if node.form.read is None and node.name in known
            else node.form.placeholder
            for node in self._paths[0]
        )

    def pattern(self, known: Mapping[str, Any]) -> str:
        """Return a regular expression of the line, without groups that only show.

        Args:
            known: as in `blank`.
        """
        return "".join(self._pattern(self._nodes, known))

    def _pattern(self, nodes: Nodes, known: Mapping[str, Any]) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, str):
                yield _literal(node)
            elif isinstance(node, list):
                if any(slot.form.read is not None for slot in _slots(node)):
                    yield from self._pattern(node, known)
            elif node.form.read is None and node.name in known:
                yield _literal(self._value(node, known[node.name]))
            else:
                yield node.form.pattern

    def labelled(self, text: str) -> str | None:
        """Return a line with its label as the template has it, or None where it has another.

        Args:
            text: a line with a label in any case, perhaps with a colon of a model's own.
        """
        found = self._label.match(text)
        return None if found is None else self.prefix + text[found.end() :]

    def read(self, text: str) -> dict[str, Any] | None:
        """Return the values that a line holds, or None where it is no line of this template.

        Args:
            text: the line, without blanks at its ends.

        Raises:
            DataError: for a value that its form cannot read, naming the field.
        """
        parts = self._parts(text)
        if parts is None:
            return None
        return {
            slot.name: _read(slot, slot.form.read, raw, text)
            for slot, raw in parts
            if slot.form.read is not None and not (raw == _MISSING and self._may_miss(slot))
        }

    def contradiction(self, text: str, values: Mapping[str, Any]) -> str | None:
        """Return what a line only shows that cannot stand beside the values, or None.

        Args:
            text: a line of this template.
            values: all that was read.
        """
        for slot, raw in self._parts(text) or ():
            value = values.get(slot.name)
            if slot.form.read is None and not is_absent(value) and not slot.form.agrees(value, raw):
                return f"{raw!r} in {text!r} contradicts {slot.name} {value!r}"
        return None

    def _parts(self, text: str) -> list[tuple[Slot, str]] | None:
        """Return what stands in each slot, or None where it is no line of this template."""
        if not (found := self.start.match(text)):
            return None
        parts: list[tuple[Slot, str]] = []
        slot, place = (self.slots[0] if self.slots else None), found.end()
        if slot is None:
            return parts if place == len(text) else None
        while slot is not None:
            link, end, after = self._next(slot, text, place)
            if link is None:
                return None
            parts.append((slot, text[place:end].strip()))
            slot, place = link.slot, after
        return parts

    def _next(self, slot: Slot, text: str, place: int) -> tuple[_Link | None, int, int]:
        """Return what follows the value at `place`, with where it starts and ends."""
        between = [link for link in self.links[slot] if link.slot]
        if finder := self._finders[slot]:
            for found in finder.finditer(text, place):
                if found.lastindex:
                    return between[found.lastindex - 1], found.start(), found.end()
        for link in self.links[slot]:
            if link.slot is None and text.endswith(link.literal, place):
                return link, len(text) - len(link.literal), len(text)
        return None, place, place


def _literal(text: str) -> str:
    """Return text as a pattern; only what must be is escaped, as servers' grammars know little."""
    return re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", text)


def _read(slot: Slot, read: Any, raw: str, text: str) -> Any:
    try:
        return read(raw)
    except ValueError as error:
        raise DataError(f"cannot read {slot.name} from {raw!r} in {text!r}: {error}") from error


def _nodes(tokens: Iterator[tuple[str, ...]], forms: Mapping[str, Form]) -> Nodes:
    nodes: Nodes = []
    for name, form, bracket, literal in tokens:
        if bracket == "]":
            break
        if bracket:
            nodes.append(_nodes(tokens, forms))
        elif name:
            nodes.append(Slot(name, forms[form] if form else forms.get(name, TEXT)))
        else:
            nodes.append(literal)
    return nodes


def _slots(nodes: Nodes) -> Iterator[Slot]:
    for node in nodes:
        if isinstance(node, Slot):
            yield node
        elif isinstance(node, list):
            yield from _slots(node)


def _paths(nodes: Nodes) -> Iterator[Path]:
    """Yield the flat lines that a template allows, the one with every group first."""
    if not nodes:
        yield []
        return
    first, *rest = nodes
    heads = [*_paths(first), []] if isinstance(first, list) else [[first]]
    for head in heads:
        for tail in _paths(rest):
            yield [*head, *tail]


def _links(slot: Slot, paths: list[Path]) -> list[_Link]:
    """Return what may follow a slot, longer literals first."""
    links: dict[tuple[str, Slot | None], _Link] = {}
    for path in paths:
        if slot not in path:
            continue
        literal, following = "", None
        for node in path[path.index(slot) + 1 :]:
            if isinstance(node, Slot):
                following = node
                break
            literal += node
        links[literal, following] = _Link(literal, following)
    return sorted(links.values(), key=lambda link: -len(link.literal))


def _finder(links: list[_Link]) -> re.Pattern[str] | None:
    """Return a pattern of what parts a value from the next, passing over entities."""
    between = [f"({flexible(link.literal)})" for link in links if link.slot]
    return re.compile("|".join((ENTITY, *between))) if between else None
