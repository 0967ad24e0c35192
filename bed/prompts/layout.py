"""The lines of one kind of stub or target, in order: written from fields and read back.

A layout knows no page; `bed.prompts.page` puts stubs and targets together.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bed.errors import DataError
from bed.prompts.escaping import escaped, split_parts, unescaped
from bed.prompts.forms import ANY
from bed.prompts.lines import Line, is_absent

__all__ = ["INDENT", "Layout", "Rest", "UnreadableError"]

INDENT = "  "

_BULLET = re.compile(r"\A(?:[-*>\u2022]|#{1,6}|[0-9]{1,2}[.)])\s++(?=\D)")
_MARKED = re.compile(r"\A(?:\*\*([^*]++)\*\*|`([^`]++)`)")

Values = Mapping[str, Any]


class UnreadableError(DataError):
    """Lines that a layout cannot read.

    Attributes:
        num_read: how many lines it could read before.
    """

    def __init__(self, message: str, num_read: int) -> None:
        super().__init__(message)
        self.num_read = num_read


@dataclass(frozen=True, eq=False)
class Rest:
    """A line `name: value` for each field that has no line of its own.

    Attributes:
        printed: fields that have one, or that are not printed at all.
        labels: of the other lines, in lower case; a field of that name has its first letter
            encoded.
        is_outcome: whether the lines tell the result.
        level: how deep they are indented.
    """

    printed: frozenset[str]
    labels: frozenset[str]
    is_outcome: bool = False
    level: int = 0

    def written(self, values: Values) -> Iterator[str]:
        """Yield the lines.

        Args:
            values: all fields.
        """
        for name, value in values.items():
            if name not in self.printed and not is_absent(value):
                label = escaped(name, (": ",))
                if label.casefold() in self.labels:
                    label = f"&#{ord(label[0])};{label[1:]}"
                yield f"{label}: {ANY.write(value, ())}"

    def read(self, text: str) -> dict[str, Any] | None:
        """Return the field that a line holds, or None where it holds none.

        Args:
            text: the line, without blanks at its ends.
        """
        label, *rest = split_parts(text, ": ")
        if not rest or ANY.read is None:
            return None
        return {unescaped(label): ANY.read(text[len(label) :].removeprefix(":").strip())}


@dataclass(frozen=True, eq=False)
class Layout:
    """What is printed of one kind of experiment or target.

    Attributes:
        lines: in order.
        settings: the fields that tell this layout from others of its domain, such as the kind.
        needs: fields that must be there.
        outcome_needs: for each tuple, one of its fields must be in the outcome.
        forms_of_result: where the result has several forms, the fields of each; the first is
            asked of a simulator unless the evidence shows another.
        inconsistencies: what cannot be true of a result that a model wrote, in words; it gets the
            fields of the experiment and of the outcome, as read.
    """

    lines: tuple[Line | Rest, ...]
    settings: Values = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    outcome_needs: tuple[tuple[str, ...], ...] = ()
    forms_of_result: tuple[tuple[str, ...], ...] = ()
    inconsistencies: Callable[[Values], Iterable[str]] = lambda values: ()

    def fits(self, values: Values) -> bool:
        """Return whether this is the layout of an experiment or target.

        Args:
            values: its fields.
        """
        return all(values.get(name) == value for name, value in self.settings.items())

    def written(self, values: Values, outcome: Values | None = None) -> list[str]:
        """Return the lines, without those of the result where `outcome` is None.

        Args:
            values: fields of the experiment or target.
            outcome: fields of the outcome.

        Raises:
            DataError: for a field that is missing or that its line cannot print.
        """
        self._require(values, outcome)
        rows: list[tuple[int, bool, str]] = []
        for line in self.lines:
            if line.is_outcome and outcome is None:
                continue
            own = outcome if line.is_outcome and outcome is not None else values
            if isinstance(line, Rest):
                rows += [(line.level, False, text) for text in line.written(own)]
            elif (text := line.written({**values, **own})) is not None:
                rows.append((line.level, line.is_heading, self._unmistakable(line, text)))
        return _indented(rows)

    def blank_result(self, values: Values, told: Values) -> list[str]:
        """Return the lines of the result with a placeholder for each value.

        Args:
            values: fields of the experiment.
            told: fields of an outcome of the same kind, whose form is taken; may be empty.
        """
        return _indented(
            [(line.level, line.is_heading, line.blank(values)) for line in self._asked_for(told)]
        )

    def result_regex(self, values: Values, told: Values) -> str:
        """Return a regular expression of the lines of the result, as `blank_result` asks for them.

        Args:
            values: fields of the experiment.
            told: as in `blank_result`.
        """
        rows = [
            (line.level, line.is_heading, line.pattern(values)) for line in self._asked_for(told)
        ]
        return r"\n".join(_indented(rows))

    def _asked_for(self, told: Values) -> list[Line]:
        """Return the lines of the result in the form that is in use."""
        form = next(
            (form for form in self.forms_of_result if not is_absent(told.get(form[0]))),
            self.forms_of_result[0] if self.forms_of_result else (),
        )
        others = {name for names in self.forms_of_result for name in names} - set(form)
        return [
            line
            for line in self.lines
            if isinstance(line, Line) and line.is_outcome and line.needed not in others
        ]

    def read(self, lines: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the fields of the experiment (or target) and of the outcome.

        Args:
            lines: as written; blank lines, indentation and padding do not matter.

        Raises:
            DataError: for a line that is none of this layout, or a value that cannot be read.
        """
        values, outcome = dict(self.settings), dict[str, Any]()
        self._read_all(lines, values, outcome)
        return values, outcome

    def read_result(self, lines: Sequence[str], values: Values) -> dict[str, Any]:
        """Return the fields of an outcome from the lines of its result alone, in any order.

        Args:
            lines: as a model wrote them; blank lines, bullets, bold marks and the case of labels
                do not matter.
            values: fields of the experiment.

        Raises:
            DataError: for a line that is none of the result, a value that cannot be read or is
                impossible, lines that contradict each other, or a field that is missing.
        """
        outcome: dict[str, Any] = {}
        read: list[tuple[Line, str]] = []
        for text in filter(None, map(_plain, lines)):
            line, text, told = self._of_result(text)
            for name in told.keys() & outcome.keys():
                if told[name] != outcome[name]:
                    raise DataError(
                        f"{name} is stated twice, as {outcome[name]!r} and as {told[name]!r}"
                    )
            outcome.update(told)
            if isinstance(line, Line):
                read.append((line, text))
        self._require_outcome(outcome)
        if not outcome:
            raise DataError("it states no result; write its lines in the requested form")
        self._require_consistent(values, outcome, read)
        return outcome

    def _require_consistent(
        self, values: Values, outcome: Values, read: Sequence[tuple[Line, str]]
    ) -> None:
        stated = [form for form in self.forms_of_result if outcome.keys() & set(form)]
        if len(stated) > 1:
            raise DataError(f"it states {sorted(outcome)}, of two forms of result; use one")
        both = {**values, **outcome}
        said = (line.contradiction(text, both) for line, text in read)
        for complaint in (*filter(None, said), *self.inconsistencies(both)):
            raise DataError(complaint)

    def _of_result(self, text: str) -> tuple[Line | Rest, str, dict[str, Any]]:
        """Return the line of the result that a text is, with its label mended and its fields."""
        known = [line for line in self.lines if line.is_outcome or _is_heading(line)]
        named = [
            (line, mended)
            for line in known
            if isinstance(line, Line) and (mended := line.labelled(text)) is not None
        ]
        named.sort(key=lambda found: -len(found[0].prefix))
        fitting: list[tuple[Line | Rest, str]] = [
            *named,
            *((line, text) for line in known if isinstance(line, Rest)),
        ]
        for line, mended in fitting:
            if (told := line.read(mended)) is not None:
                return line, mended, told
        expected = [line.prefix.strip() for line in known if isinstance(line, Line)]
        raise DataError(f"cannot read the line {text!r}; expected are {expected}")

    def _read_all(
        self, lines: Sequence[str], values: dict[str, Any], outcome: dict[str, Any]
    ) -> None:
        place = num_read = 0
        try:
            for text in filter(None, (line.strip() for line in lines)):
                place = self._read_line(text, place, values, outcome)
                num_read += 1
            self._require(values, outcome)
        except DataError as error:
            raise UnreadableError(str(error), num_read) from error

    def _read_line(
        self, text: str, place: int, values: dict[str, Any], outcome: dict[str, Any]
    ) -> int:
        """Read one line into its fields and return where the next may stand."""
        for found, line in self._candidates(text, place):
            told = line.read(text)
            if told is not None:
                (outcome if line.is_outcome else values).update(told)
                return found if isinstance(line, Rest) else found + 1
        expected = [line.prefix.strip() for line in self.lines[place:] if isinstance(line, Line)]
        raise DataError(f"cannot read the line {text!r}; here may stand {expected}")

    def _candidates(self, text: str, place: int) -> list[tuple[int, Line | Rest]]:
        """Return the lines that may stand here: a title first, then the longest label."""
        ahead = list(enumerate(self.lines))[place:]
        if ahead and isinstance(ahead[0][1], Line) and not ahead[0][1].prefix:
            return ahead[:1]
        labelled = [
            (i, line) for i, line in ahead if isinstance(line, Line) and line.start.match(text)
        ]
        labelled.sort(key=lambda found: -len(found[1].prefix))
        return [*labelled, *((i, line) for i, line in ahead if isinstance(line, Rest))]

    @cached_property
    def _longer(self) -> dict[Line, list[Line]]:
        """For each line the lines whose label goes on where its own ends."""
        lines = [line for line in self.lines if isinstance(line, Line) and line.prefix]
        return {
            line: [
                other
                for other in lines
                if other is not line and other.prefix.startswith(line.prefix)
            ]
            for line in lines
        }

    def _unmistakable(self, line: Line, text: str) -> str:
        """Encode the start of a value that would make the label read as another."""
        if any(other.start.match(text) for other in self._longer.get(line, ())):
            value = text[len(line.prefix) :]
            return f"{line.prefix}&#{ord(value[0])};{value[1:]}"
        return text

    def _require(self, values: Values, outcome: Values | None) -> None:
        for name in self.needs:
            if is_absent(values.get(name)):
                raise DataError(f"field {name!r} is missing; it must be stated")
        if outcome is not None:
            self._require_outcome(outcome)

    def _require_outcome(self, outcome: Values) -> None:
        for names in self.outcome_needs:
            if all(is_absent(outcome.get(name)) for name in names):
                wanted = " or ".join(map(repr, names))
                raise DataError(f"the outcome's field {wanted} is missing; a result must state it")


def _is_heading(line: Line | Rest) -> bool:
    return isinstance(line, Line) and line.is_heading


def _plain(text: str) -> str:
    """Return a line without the bullet, and the marks about its label, that chat models set."""
    bare = _BULLET.sub("", text.strip())
    return _MARKED.sub(lambda found: found[1] or found[2], bare).strip()


def _indented(rows: Sequence[tuple[int, bool, str]]) -> list[str]:
    """Indent lines by their level, and drop headings with nothing below them."""
    kept: list[str] = []
    below = 0
    for level, is_heading, text in reversed(rows):
        if not is_heading or below > level:
            kept.append(INDENT * level + text)
            below = level
    return kept[::-1]
