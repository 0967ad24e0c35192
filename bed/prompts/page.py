"""The page that a model sees: sections, numbering and closing lines, written and read back."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bed.domains import canonical, relation
from bed.errors import DataError
from bed.evidence import Evidence, Experiment, Fields, Hypothesis, Outcome
from bed.prompts import depmap, expression, generic, gwas
from bed.prompts.answers import without_reasoning
from bed.prompts.escaping import escaped, unescaped
from bed.prompts.layout import INDENT, Layout, UnreadableError
from bed.prompts.wording import Wording

__all__ = [
    "ParsedPrompt",
    "ParsedStub",
    "candidates_section",
    "evidence_section",
    "experiment_lines",
    "parse_evidence",
    "read_outcome",
    "result_form",
    "result_regex",
    "target_section",
    "wording",
]

_CONTEXT, _TARGET = "CONTEXT EVIDENCE", "TARGET HYPOTHESIS"
_NO_EVIDENCE = "(none)"
_END = re.compile(r"Respond using the format|CANDIDATE NEXT EXPERIMENTS|EXPERIMENT TO SIMULATE")
_NUMBERED = re.compile(r"\[[0-9]+\]\s++(.*)", re.DOTALL)
_FENCES = ("```", "~~~")
_REMEMBERED = 1 << 16

_WORDINGS: Mapping[str, Wording] = {
    "depmap": depmap.WORDING,
    "expression": expression.WORDING,
    "generic": generic.WORDING,
    "gwas": gwas.WORDING,
}


@dataclass(frozen=True, slots=True)
class ParsedStub:
    """A stub as a prompt prints it.

    Attributes:
        tag: the relation to the target, beside the stub's number.
        experiment: the printed fields of the experiment, with its kind.
        outcome: the printed fields of the outcome.
    """

    tag: str
    experiment: Fields
    outcome: Fields


@dataclass(frozen=True, slots=True)
class ParsedPrompt:
    """A prompt's evidence and target; numbers have the printed precision.

    Attributes:
        stubs: in the printed order.
        target_text: the claim.
        target: the printed fields of the target, with those that its claim states.
    """

    stubs: tuple[ParsedStub, ...]
    target_text: str
    target: Fields


def wording(domain: str) -> Wording:
    """Return the printed language of a domain.

    Args:
        domain: its name or an alias.

    Raises:
        DataError: for a domain without prompts.
    """
    name = canonical(domain)
    if name not in _WORDINGS:
        raise DataError(f"domain {domain!r} has no prompts; use one of {sorted(_WORDINGS)}")
    return _WORDINGS[name]


def evidence_section(hypothesis: Hypothesis, evidence: Evidence) -> list[str]:
    """Return the first section, with each stub's relation to `hypothesis`; `(none)` for none.

    Args:
        hypothesis: the target, or a local hypothesis.
        evidence: stubs in the order in which they are shown.
    """
    shown = [
        line
        for number, stub in enumerate(evidence, start=1)
        for line in ["", *_numbered(number, hypothesis, stub.experiment, stub.outcome)]
    ]
    return [_CONTEXT, "=" * len(_CONTEXT), *(shown or ["", _NO_EVIDENCE]), ""]


@lru_cache(_REMEMBERED)
def target_section(hypothesis: Hypothesis) -> tuple[str, ...]:
    """Return the section of the hypothesis asked about: its claim, then its fields.

    Args:
        hypothesis: the target, or a local hypothesis.

    Raises:
        DataError: for a required field that is missing.
    """
    words = wording(hypothesis.domain)
    values = {**words.defaults, **hypothesis.fields}
    try:
        fields = _fitting(words.targets, values).written(values)
    except DataError as error:
        raise DataError(f"hypothesis {hypothesis.text!r}: {error}") from error
    return (_TARGET, "=" * len(_TARGET), "", *_claim_lines(words, hypothesis.text), *fields, "")


def candidates_section(hypothesis: Hypothesis, candidates: Sequence[Experiment]) -> list[str]:
    """Return the candidates, numbered from 0, without anything of their results.

    Args:
        hypothesis: the target, to which each candidate's relation is told.
        candidates: in the order of their numbers.
    """
    lines = ["CANDIDATE NEXT EXPERIMENTS (results hidden):"]
    for number, experiment in enumerate(candidates):
        lines += ["", *_numbered(number, hypothesis, experiment, None)]
    return [*lines, ""]


@lru_cache(_REMEMBERED)
def experiment_lines(experiment: Experiment, outcome: Outcome | None) -> tuple[str, ...]:
    """Return the lines of an experiment, with those of its result unless `outcome` is None.

    They are the same in every prompt that shows it, and a round of scoring shows each of the known
    ones many times.

    Args:
        experiment: of any domain with prompts.
        outcome: what it reported.

    Raises:
        DataError: for a required field that is missing, naming it.
    """
    values = _values(experiment)
    try:
        layout = _fitting(wording(experiment.hypothesis.domain).stubs, values)
        return tuple(layout.written(values, None if outcome is None else outcome.fields))
    except DataError as error:
        raise DataError(f"experiment {experiment.id!r}: {error}") from error


def result_form(experiment: Experiment, evidence: Evidence) -> list[str]:
    """Return the lines of the experiment's result with placeholders.

    Args:
        experiment: the one asked about.
        evidence: a stub of the same kind shows which form of result is in use.
    """
    layout = _layout(experiment)
    return layout.blank_result(experiment.fields, _told(layout, evidence))


def result_regex(experiment: Experiment, evidence: Evidence) -> str:
    """Return a regular expression that holds a model's output to the form of the result.

    Args:
        experiment: the one asked about.
        evidence: as in `result_form`.
    """
    layout = _layout(experiment)
    return layout.result_regex(experiment.fields, _told(layout, evidence))


def _told(layout: Layout, evidence: Evidence) -> Mapping[str, Any]:
    """Return the last outcome in the evidence of an experiment of the same kind."""
    alike = [stub.outcome.fields for stub in evidence if _layout(stub.experiment) is layout]
    return alike[-1] if alike else {}


def read_outcome(experiment: Experiment, text: str) -> Outcome:
    """Return the outcome that a simulator wrote, read from the lines of its result.

    Args:
        experiment: the one that was simulated.
        text: everything that the model wrote. Its reasoning is passed over, and so is what stands
            outside a code fence where there is one.

    Raises:
        DataError: for a line that is none of the result, a value that cannot be read or is
            impossible, lines that contradict each other, or a field that is missing.
    """
    lines = _fenced(without_reasoning(text).splitlines())
    try:
        return Outcome(Fields(_layout(experiment).read_result(lines, experiment.fields)))
    except DataError as error:
        raise DataError(f"simulated result of experiment {experiment.id!r}: {error}") from error


def _fenced(lines: Sequence[str]) -> list[str]:
    """Return what stands between code fences; without a pair of them, all lines but a fence."""
    fences = [i for i, line in enumerate(lines) if line.strip().startswith(_FENCES)]
    if len(fences) < 2:
        return [line for i, line in enumerate(lines) if i not in fences]
    ends = [*fences[1::2], len(lines)]
    pairs = zip(fences[::2], ends, strict=False)
    return [line for start, end in pairs for line in lines[start + 1 : end]]


def parse_evidence(domain: str, user_prompt: str) -> ParsedPrompt:
    """Read a rendered user prompt back into the fields that it prints.

    Blank lines, indentation and padding do not matter, so that prompts of the published format
    from elsewhere can be read too.

    Args:
        domain: of the target.
        user_prompt: the text of the user's message.

    Raises:
        DataError: for a prompt without its two sections, or a line that cannot be read.
    """
    words = wording(domain)
    lines = [line for raw in user_prompt.splitlines() if (line := raw.strip())]
    start, middle = _place(lines, _CONTEXT), _place(lines, _TARGET)
    if middle < start:
        raise DataError(f"{_TARGET!r} stands before {_CONTEXT!r}; the evidence must come first")
    context, rest = lines[start + 1 : middle], lines[middle + 1 :]
    end = next((i for i, line in enumerate(rest) if _END.match(line)), len(rest))
    blocks = _blocks(context[_num_rules(context[:1]) :])
    stubs = tuple(_read_stub(words, number, block) for number, block in enumerate(blocks, 1))
    text, target = _read_target(words, rest[_num_rules(rest[:1]) : end])
    return ParsedPrompt(stubs, text, Fields(target))


def _place(lines: Sequence[str], title: str) -> int:
    if title not in lines:
        raise DataError(f"the prompt has no line {title!r}; give the user's message whole")
    return lines.index(title)


def _num_rules(lines: Sequence[str]) -> int:
    """Return 1 for the rule below a title, 0 for any other line."""
    return sum(set(line) == {"="} for line in lines)


def _blocks(lines: Sequence[str]) -> list[list[str]]:
    """Split the evidence at its numbered lines."""
    blocks: list[list[str]] = []
    for line in lines:
        if numbered := _NUMBERED.fullmatch(line):
            blocks.append([numbered[1]])
        elif blocks:
            blocks[-1].append(line)
        elif line != _NO_EVIDENCE:
            raise DataError(f"cannot read {line!r}: evidence starts with a numbered line '[1] ...'")
    return blocks


def _read_stub(words: Wording, number: int, block: Sequence[str]) -> ParsedStub:
    tag, *lines = block
    values, outcome = _first_readable(words.stubs, lines, f"evidence [{number}]")
    return ParsedStub(unescaped(tag), Fields(values), Fields(outcome))


def _read_target(words: Wording, lines: Sequence[str]) -> tuple[str, dict[str, Any]]:
    if not lines:
        raise DataError(f"nothing stands below {_TARGET!r}; the claim must be there")
    printed, *fields = lines
    printed = printed.removeprefix(words.claim_label.rstrip()).lstrip()
    stated = next((told for claim in words.claims if (told := claim.read(printed))), {})
    if words.second_sentence and fields and fields[0].startswith(words.second_sentence):
        printed += " " + fields.pop(0)
    told, _ = _first_readable(words.targets, fields, "target")
    return unescaped(printed), {**stated, **told}


def _first_readable(
    layouts: Sequence[Layout], lines: Sequence[str], where: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the first layout reads that can; else raise for the one that came furthest."""
    errors: list[UnreadableError] = []
    for layout in layouts:
        try:
            return layout.read(lines)
        except UnreadableError as error:
            errors.append(error)
    furthest = max(errors, key=lambda error: error.num_read)
    raise DataError(f"{where}: {furthest}") from furthest


def _numbered(
    number: int, hypothesis: Hypothesis, experiment: Experiment, outcome: Outcome | None
) -> list[str]:
    tag = _tag(relation(hypothesis, experiment).tag)
    lines = experiment_lines(experiment, outcome)
    return [f"[{number}] {tag}", *(INDENT + line for line in lines)]


_tag = lru_cache(_REMEMBERED)(escaped)


def _claim_lines(words: Wording, text: str) -> list[str]:
    """Return the claim to the letter, its second sentence on a line of its own."""
    first, blank, second = text, "", ""
    if words.second_sentence:
        # the last one is the claim's own: a trait may hold the same words
        first, blank, second = text.rpartition(" " + words.second_sentence)
        if not blank:
            first, second = text, ""
    lines = [words.claim_label + escaped(first)]
    return [*lines, escaped(blank.lstrip() + second)] if blank else lines


def _values(experiment: Experiment) -> dict[str, Any]:
    defaults = wording(experiment.hypothesis.domain).defaults
    sentence = {generic.TESTS: experiment.hypothesis.text}
    return {**defaults, **experiment.fields, **sentence}


def _layout(experiment: Experiment) -> Layout:
    return _fitting(wording(experiment.hypothesis.domain).stubs, _values(experiment))


def _fitting(layouts: Sequence[Layout], values: Mapping[str, Any]) -> Layout:
    """Return the layout of these fields, or raise naming the field that fits none."""
    for layout in layouts:
        if layout.fits(values):
            return layout
    for name in layouts[0].settings:
        known = {layout.settings[name] for layout in layouts}
        if values.get(name) not in known:
            raise DataError(f"field {name!r} is {values.get(name)!r}; use one of {sorted(known)}")
    raise DataError("its fields fit no layout")
