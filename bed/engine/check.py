"""Tries each part of an engine: what answers, how fast, and how noisy.

Noise: a served model's answers depend a little on what else is computed with them. The same
questions are asked alone, together, and in shuffled groups, each time with seeds of their own, and
the spread of their log odds about their mean is the noise of one answer.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bed.belief import ClassifierBelief
from bed.domains import reading
from bed.engine.build import Sources, build_naive, build_raw_belief, build_simulator, golden_of
from bed.engine.settings import Served, StandIn
from bed.episodes.files import read_episodes
from bed.errors import BedError, DataError
from bed.evidence import Evidence, Experiment, Fields, Hypothesis, Outcome, Stub
from bed.information import CLIP, log_odds
from bed.protocols import BeliefModel, BeliefQuery, DesignProblem, OutcomeRequest
from bed.seeds import derive_seed, generator
from bed.transport import HttpTransport

__all__ = ["Finding", "check_engine"]

_NUM_QUESTIONS = 16
_NUM_PROBLEMS = 4
_GROUP = 5
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Finding:
    """What trying one part showed.

    Attributes:
        part: its table, such as "belief" or "endpoints.judge".
        is_sound: whether it works.
        lines: what answered, or what is wrong.
    """

    part: str
    is_sound: bool
    lines: tuple[str, ...]


@dataclass(frozen=True)
class _Case:
    """A problem to ask about: a target with results, of which any beginning can be evidence."""

    target: Hypothesis
    stubs: Evidence


def check_engine(sources: Sources, episodes: Path | None = None) -> Iterator[Finding]:
    """Try every endpoint that is asked and every part, and yield each finding as it is there.

    A part fails where more than half of its questions have no answer.

    Args:
        sources: the engine and its connections.
        episodes: file to take questions from; without it they are about tosses of a coin.

    Raises:
        DataError: for an episode file that cannot be read.
    """
    cases = _cases(episodes)
    for name in sources.transports:
        yield _tried(f"endpoints.{name}", partial(_endpoint, sources, name))
    checks = {"belief": _belief, "tracker": _belief, "simulator": _simulator, "naive": _naive}
    for name, settings in sources.engine.parts().items():
        if isinstance(settings, StandIn) and episodes is None:
            said = "a stand-in, fitted on training episodes; give --episodes to try it"
            yield Finding(name, True, (said,))
        else:
            yield _tried(name, partial(checks[name], sources, settings, cases))


def _tried(part: str, check: Callable[[], list[str]]) -> Finding:
    try:
        return Finding(part, True, tuple(check()))
    except BedError as error:
        return Finding(part, False, (str(error),))
    except Exception as error:  # whatever a model's library raises, the other parts are tried
        return Finding(part, False, (f"{type(error).__name__}: {error}",))


def _cases(episodes: Path | None) -> list[_Case]:
    if episodes is None:
        return [_coin(number) for number in range(_NUM_PROBLEMS)]
    found = read_episodes(episodes, "test").episodes
    if not found:
        raise DataError(f"{episodes} has no test episodes to ask about; build a larger file")
    chosen = sorted(found, key=lambda episode: derive_seed("check", episode.id))[:_NUM_PROBLEMS]
    return [_Case(episode.target, episode.pool) for episode in chosen]


def _coin(number: int) -> _Case:
    shows = generator("coin", number).random(4) < 0.7
    return _Case(
        Hypothesis(f"Coin {number} shows heads more often than tails."),
        tuple(
            Stub(
                Experiment(f"toss {n}", Hypothesis(f"Toss {n} of coin {number} shows heads.")),
                Outcome(Fields(supported=bool(heads))),
            )
            for n, heads in enumerate(shows, start=1)
        ),
    )


def _endpoint(sources: Sources, name: str) -> list[str]:
    """Return which models each replica lists; raise where one is silent or lacks a model."""
    transport = sources.transports[name]
    engine = sources.engine
    if not isinstance(transport, HttpTransport):
        return [f"{type(transport).__name__}: not asked what it serves"]
    wanted = {
        engine.model_of(part): part_name
        for part_name, part in engine.parts().items()
        if isinstance(part, Served) and part.endpoint == name
    }
    lines = []
    for url, reply in transport.get("/v1/models").items():
        if reply.status == 404:
            lines.append(f"{url} answers, but does not list its models")
            continue
        if reply.reason is not None:
            raise DataError(reply.reason)
        lengths = _listed(reply.body)
        for model, part in wanted.items():
            if model not in lengths:
                raise DataError(
                    f"{url} serves {', '.join(sorted(lengths)) or 'nothing'}, but [{part}] asks "
                    f"for {model!r}; mend its key model"
                )
            length = lengths[model]
            lines.append(
                f"{url} serves {model}"
                + ("" if length is None else f", context of {length:,} tokens")
            )
    return lines


def _listed(body: Any) -> dict[str, int | None]:
    """Return the context length of each model that a server lists."""
    try:
        return {str(row["id"]): row.get("max_model_len") for row in body["data"]}
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"its list of models cannot be read ({error}): {str(body)[:200]}"
        ) from error


def _belief(sources: Sources, settings: Any, cases: Sequence[_Case]) -> list[str]:
    belief = build_raw_belief(sources, settings)
    lines = []
    if isinstance(belief, ClassifierBelief):
        golden, tolerance = golden_of(sources.engine, settings)
        logits = belief.check(golden, tolerance)
        shown = ", ".join(f"{logit:.2f}" for logit in logits)
        lines.append(f"its head is loaded (logits of plain texts: {shown})")
        if golden:
            lines.append(f"{len(golden)} golden prompts get the logits that they must")
    return [*lines, *_noise(belief, _questions(cases))]


def _questions(cases: Sequence[_Case]) -> list[tuple[Hypothesis, Evidence]]:
    sizes = range(-(-_NUM_QUESTIONS // len(cases)))
    return [(case.target, case.stubs[:size]) for case in cases for size in sizes]


def _noise(belief: BeliefModel, questions: Sequence[tuple[Hypothesis, Evidence]]) -> list[str]:
    """Ask the questions alone, together and in shuffled groups, and say how the answers differ."""
    count = len(questions)
    shuffled = generator("check order").permutation(count).tolist()
    rounds = (
        [[i] for i in range(count)],
        [list(range(count))],
        [shuffled[at : at + _GROUP] for at in range(0, count, _GROUP)],
    )
    odds = np.full((len(rounds), count), np.nan)
    reasons: list[str] = []
    seconds = np.zeros(len(rounds))
    for r, groups in enumerate(rounds):
        for group in groups:
            queries = [
                BeliefQuery(hypothesis, evidence, derive_seed("check", r, i))
                for i in group
                for hypothesis, evidence in [questions[i]]
            ]
            started = time.perf_counter()
            found = belief.probabilities(queries)
            seconds[r] += time.perf_counter() - started
            known = np.array([reason is None for reason in found.reasons])
            odds[r, np.array(group)[known]] = log_odds(found.probabilities[known], CLIP)
            reasons += [reason for reason in found.reasons if reason is not None]
    _require_half(int(np.isnan(odds).sum()), odds.size, reasons)
    whole = odds[:, ~np.isnan(odds).any(axis=0)]
    lines = [
        f"{count} questions: {count / seconds[1]:,.1f} a second together, "
        f"{count / seconds[0]:,.1f} one by one"
    ]
    if reasons:
        lines.append(f"{len(reasons)} of {odds.size} had no answer, the first: {reasons[0]}")
    if whole.size:
        widest = float(np.ptp(whole, axis=0).max())
        noise = float(np.sqrt(whole.var(axis=0, ddof=1).mean()))
        # rounding is no noise
        noise = noise if noise > _ROUNDING else 0.0
        lines += [
            f"asked alone, together and in shuffled groups, log odds differ by up to "
            f"{widest:.2g}, s.d. {noise:.2g}",
            f"noise = {noise:.2g}",
        ]
    return lines


def _simulator(sources: Sources, settings: Any, cases: Sequence[_Case]) -> list[str]:
    simulator = build_simulator(sources)
    requests = [
        OutcomeRequest(case.stubs[-1].experiment, branch, case.stubs[:1], derive_seed("check", i))
        for i, case in enumerate(cases)
        for branch in (True, False)
    ]
    started = time.perf_counter()
    found = simulator.sample(requests)
    seconds = time.perf_counter() - started
    reasons = [reason for reason in found.reasons if reason is not None]
    _require_half(len(reasons), len(requests), reasons)
    agreeing = sum(
        reading(request.experiment, outcome).supported is request.supportive
        for request, outcome in zip(requests, found.values, strict=True)
        if outcome is not None
    )
    read = len(requests) - len(reasons)
    lines = [
        f"{read} of {len(requests)} results read, {agreeing} of them of the branch asked for; "
        f"{len(requests) / seconds:,.1f} a second"
    ]
    return [*lines, *(f"not read, the first: {reason}" for reason in reasons[:1])]


def _naive(sources: Sources, settings: Any, cases: Sequence[_Case]) -> list[str]:
    problems = [
        DesignProblem(
            case.target,
            case.stubs[:1],
            tuple(stub.experiment for stub in case.stubs[1:]),
            derive_seed("check", i),
        )
        for i, case in enumerate(cases)
    ]
    started = time.perf_counter()
    choices = build_naive(sources).choose(problems)
    seconds = time.perf_counter() - started
    reasons = [choice.fallback for choice in choices if choice.fallback is not None]
    _require_half(len(reasons), len(choices), reasons)
    lines = [
        f"{len(choices) - len(reasons)} of {len(choices)} choices read; "
        f"{len(choices) / seconds:,.1f} a second"
    ]
    return [*lines, *(f"fell back to a random choice, the first: {r}" for r in reasons[:1])]


def _require_half(num_failed: int, count: int, reasons: Sequence[str]) -> None:
    if 2 * num_failed > count:
        raise DataError(f"{num_failed} of {count} questions had no answer, the first: {reasons[0]}")
