"""What the tiny models learn from: rendered prompts of real episodes with the answers they expect.

The system texts are short, for the sake of a small model. Whoever asks the models must use them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bed.domains import reading, relation
from bed.evidence import Episode, Hypothesis, Stub
from bed.prompts import Prompt, belief_prompt, choice_prompt, simulation_prompt
from bed.prompts.page import experiment_lines
from bed.seeds import generator

__all__ = [
    "SYSTEM",
    "Answered",
    "Judged",
    "choices",
    "judged",
    "judgements",
    "simulations",
]

SYSTEM: Final = {
    "belief": "State your degree of belief in the target hypothesis.",
    "choice": "Choose the candidate whose result would change your belief most.",
    "simulate": "Write a plausible result of the experiment.",
}

# Mostly few stubs, which cost little; some many, so that long evidence is no surprise.
_NUM_STUBS = (0, 1, 2, 3, 5, 8, 12, 16)
_SHARES = (0.1, 0.28, 0.22, 0.18, 0.12, 0.06, 0.03, 0.01)


@dataclass(frozen=True, slots=True)
class Judged:
    """A prompt that asks for a belief, with the truth."""

    prompt: Prompt
    label: int


@dataclass(frozen=True, slots=True)
class Answered:
    """A prompt with the text that a model shall write."""

    prompt: Prompt
    answer: str


def judged(hypothesis: Hypothesis, evidence: Sequence[Stub], label: int) -> Judged:
    """Return one example of a belief."""
    return Judged(belief_prompt(hypothesis, tuple(evidence), system=SYSTEM["belief"]), label)


def judgements(episodes: Sequence[Episode], per_episode: int, seed: int) -> Iterator[Judged]:
    """Yield `per_episode` examples of each target's label and one of a local hypothesis h'.

    The local ones are drawn so that half of them are supported, as half of the targets are: a
    model that cannot tell the two apart keeps the same prior for both.
    """
    for episode in episodes:
        rng = generator(seed, "judged", episode.id)
        for _ in range(per_episode):
            yield judged(episode.target, _drawn(rng, episode.pool), episode.label)
        if (found := _one_of_either(rng, episode)) is not None:
            own, others = found
            label = int(_is_supported(own))
            yield judged(own.experiment.hypothesis, _drawn(rng, others), label)


def simulations(episodes: Sequence[Episode], seed: int) -> Iterator[Answered]:
    """Yield for each episode one experiment of its pool with the result that it really had.

    Half of the results are supportive: a model must learn to write both kinds.
    """
    for episode in episodes:
        rng = generator(seed, "simulated", episode.id)
        if (found := _one_of_either(rng, episode)) is None:
            continue
        stub, others = found
        shown = experiment_lines(stub.experiment, None)
        lines = [x for x in experiment_lines(stub.experiment, stub.outcome) if x not in shown]
        prompt = simulation_prompt(
            stub.experiment,
            _is_supported(stub),
            _drawn(rng, others),
            examples=(stub,),
            system=SYSTEM["simulate"],
        )
        yield Answered(prompt, "\n".join(lines))


def choices(episodes: Sequence[Episode], seed: int) -> Iterator[Answered]:
    """Yield for each episode a choice: the first candidate of the most relevant tier."""
    for episode in episodes:
        rng = generator(seed, "chosen", episode.id)
        stubs = [episode.pool[i] for i in rng.permutation(len(episode.pool))]
        known = int(rng.integers(4))
        candidates = [stub.experiment for stub in stubs[known:]]
        if candidates:
            tiers = [relation(episode.target, candidate).tier for candidate in candidates]
            prompt = choice_prompt(
                episode.target, tuple(stubs[:known]), candidates, system=SYSTEM["choice"]
            )
            yield Answered(prompt, f"<choice>{int(np.argmin(tiers))}</choice>")


def _drawn(rng: np.random.Generator, pool: Sequence[Stub]) -> tuple[Stub, ...]:
    """Return some stubs of a pool in random order."""
    count = min(int(rng.choice(_NUM_STUBS, p=_SHARES)), len(pool))
    return tuple(pool[i] for i in rng.permutation(len(pool))[:count])


def _one_of_either(rng: np.random.Generator, episode: Episode) -> tuple[Stub, list[Stub]] | None:
    """Return a stub of the pool, supported or not with equal chances, and the others.

    None where the pool holds none of the kind that was drawn.
    """
    wanted = bool(rng.integers(2))
    fitting = [stub for stub in episode.pool if _is_supported(stub) is wanted]
    if not fitting:
        return None
    own = fitting[rng.integers(len(fitting))]
    return own, [stub for stub in episode.pool if stub is not own]


def _is_supported(stub: Stub) -> bool:
    return reading(stub.experiment, stub.outcome).supported
