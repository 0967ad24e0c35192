"""What a language model sees and what it answered: prompts, their parts and their readers.

Values are printed as data (`bed.prompts.escaping`), each domain's lines stand in one table that
both writes and reads them, and results of candidates are never printed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bed.errors import DataError
from bed.evidence import Evidence, Experiment, Hypothesis
from bed.prompts.answers import MeanOfDraws, mean_of_draws, parse_choice, parse_probability
from bed.prompts.page import (
    ParsedPrompt,
    ParsedStub,
    candidates_section,
    evidence_section,
    experiment_lines,
    parse_evidence,
    read_outcome,
    result_form,
    result_regex,
    target_section,
)
from bed.prompts.system import Role, system_prompt

__all__ = [
    "MeanOfDraws",
    "ParsedPrompt",
    "ParsedStub",
    "Prompt",
    "belief_prompt",
    "choice_prompt",
    "mean_of_draws",
    "parse_choice",
    "parse_evidence",
    "parse_probability",
    "read_outcome",
    "result_regex",
    "simulation_prompt",
    "system_prompt",
]

_CLOSING = (
    "Respond using the format specified in the system message:",
    "<probability>0.XX</probability>",
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One conversation's opening.

    Attributes:
        system: the system message.
        user: the user's message.
    """

    system: str
    user: str


def belief_prompt(
    hypothesis: Hypothesis, evidence: Evidence, *, thinking: bool = False, system: str | None = None
) -> Prompt:
    """Return the prompt that asks for the degree of belief in a hypothesis.

    Without evidence `(none)` stands below the first title.

    Args:
        hypothesis: the target h, or a local hypothesis h'.
        evidence: stubs in the order in which they are shown.
        thinking: whether bed's own system prompt asks for reasoning first.
        system: another system prompt, taken to the letter.

    Raises:
        DataError: for a required field that is missing, naming it.
    """
    lines = [*evidence_section(hypothesis, evidence), *target_section(hypothesis), *_CLOSING]
    return _prompt(hypothesis, "belief", lines, system, thinking)


def choice_prompt(
    hypothesis: Hypothesis,
    evidence: Evidence,
    candidates: Sequence[Experiment],
    *,
    system: str | None = None,
) -> Prompt:
    """Return the prompt that asks which experiment to run next.

    Args:
        hypothesis: the target h.
        evidence: stubs in the order in which they are shown.
        candidates: the experiments to choose from, numbered from 0; nothing of their results is
            printed.
        system: another system prompt, taken to the letter.

    Raises:
        DataError: for no candidates, or a required field that is missing.
    """
    if not candidates:
        raise DataError("no candidates to choose from: list at least one")
    question = (
        "Which one of these results would change your degree of belief in the target hypothesis "
        f"most? Answer with its number, from 0 to {len(candidates) - 1}:"
    )
    lines = [
        *evidence_section(hypothesis, evidence),
        *target_section(hypothesis),
        *candidates_section(hypothesis, candidates),
        question,
        "<choice>i</choice>",
    ]
    return _prompt(hypothesis, "choice", lines, system)


def simulation_prompt(
    experiment: Experiment,
    supportive: bool,
    evidence: Evidence,
    *,
    examples: Evidence = (),
    system: str | None = None,
) -> Prompt:
    """Return the prompt that asks for a result of an experiment, see `read_outcome`.

    Args:
        experiment: whose result is to be written; its local hypothesis h' is the target.
        supportive: whether the result shall support h'.
        evidence: stubs in the order in which they are shown, related to h'.
        examples: stubs that are not shown. Where the evidence holds none of the experiment's kind,
            one of them tells in which form its results are reported.
        system: another system prompt, taken to the letter.

    Raises:
        DataError: for a required field that is missing, naming it.
    """
    local = experiment.hypothesis
    verb = "supports" if supportive else "does not support"
    title = "EXPERIMENT TO SIMULATE (result hidden):"
    lines = [
        *evidence_section(local, evidence),
        *target_section(local),
        title,
        "",
        *experiment_lines(experiment, None),
        "",
        f"Write a result of this experiment that {verb} the target hypothesis, in exactly this "
        "form and with no other text:",
        *result_form(experiment, (*examples, *evidence)),
    ]
    return _prompt(local, "simulate", lines, system)


def _prompt(
    hypothesis: Hypothesis,
    role: Role,
    lines: Sequence[str],
    system: str | None,
    thinking: bool = False,
) -> Prompt:
    own = system_prompt(hypothesis.domain, role, thinking) if system is None else system
    return Prompt(own, "\n".join(lines))
