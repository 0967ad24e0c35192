"""Naive prompting: a chat model is asked which experiment it would run (paper, section 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bed.chat import Chat, ChatRequest, Completion
from bed.domains import canonical
from bed.errors import DataError
from bed.policies.ranking import ranked
from bed.policies.simple import RandomPolicy
from bed.prompts import Prompt, choice_prompt, parse_choice
from bed.protocols import Choice, DesignProblem
from bed.seeds import derive_seed

__all__ = ["NaivePolicy"]

_SHOWN = 160


@dataclass(frozen=True)
class NaivePolicy:
    """Asks a chat model for the index of the next experiment. It does not look at cost.

    An answer that cannot be read, or does not come, is replaced by a random choice, by the
    problem's seed: `Choice.fallback` says why, and the transport's tally counts `fallbacks`.

    Attributes:
        chat: the model.
        systems: domain -> system prompt instead of bed's own.
    """

    chat: Chat
    systems: Mapping[str, str] = field(default_factory=dict)

    def choose(self, problems: Sequence[DesignProblem]) -> list[Choice]:
        """Return the model's choice for every problem."""
        prompts: list[Prompt | None] = []
        reasons: list[str | None] = []
        for problem in problems:
            try:
                prompts.append(self._prompt(problem))
                reasons.append(None)
            except DataError as error:
                prompts.append(None)
                reasons.append(str(error))
        requests = [
            ChatRequest(
                prompt,
                derive_seed(problem.seed, "naive"),
                choices=tuple(f"<choice>{i}</choice>" for i in range(len(problem.candidates))),
            )
            for problem, prompt in zip(problems, prompts, strict=True)
            if prompt is not None
        ]
        completions = iter(self.chat.complete(requests))
        chosen = [
            self._choice(problem, Completion(None, reason) if prompt is None else next(completions))
            for problem, prompt, reason in zip(problems, prompts, reasons, strict=True)
        ]
        self.chat.transport.tally.add(fallbacks=sum(of.fallback is not None for of in chosen))
        return chosen

    def _prompt(self, problem: DesignProblem) -> Prompt:
        system = self.systems.get(canonical(problem.target.domain))
        return choice_prompt(problem.target, problem.evidence, problem.candidates, system=system)

    def _choice(self, problem: DesignProblem, completion: Completion) -> Choice:
        count = len(problem.candidates)
        index = None if completion.text is None else parse_choice(completion.text, count)
        if index is None:
            (by_chance,) = RandomPolicy().choose([problem])
            return replace(by_chance, fallback=_why(completion))
        worth = np.zeros(count)
        worth[index] = 1.0
        return replace(ranked(worth, "chosen by the model"), tied=(index,), within_noise=(index,))


def _why(completion: Completion) -> str:
    if completion.text is None:
        return f"no answer: {completion.reason}"
    cut = " (cut at max_tokens)" if completion.is_cut else ""
    return f"no <choice> can be read in {completion.text[-_SHOWN:]!r}{cut}"
