"""What a job of many episodes will take, from a few calls: queries, tokens, hours and GPUs.

A few episodes are asked about at their first, middle and last step. A count c(k) at step k is taken
to be the quadratic through the three, so that an episode of K steps costs

    sum_k c(k) = w_0 c(0) + w_1 c(m) + w_2 c(K - 1),    m = floor((K - 1) / 2),

with weights that depend on K alone. Queries are linear in the candidates that are left and a
prompt's tokens in the stubs that it shows, so for the factored estimators their product is a
quadratic up to the lengths of the stubs. The mean over the trial's episodes is then scaled to the
job's.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bed.domains import canonical
from bed.engine.build import Sources
from bed.engine.settings import Engine
from bed.engine.study import engine_study
from bed.errors import DataError
from bed.evidence import Episode
from bed.protocols import BeliefModel, BeliefQuery, Calls, DesignProblem, Policy
from bed.seeds import derive_seed
from bed.simulation import Study

__all__ = [
    "SCHEMA",
    "Batch",
    "Cost",
    "job_cost",
    "measured_steps",
    "plan_job",
    "step_weights",
    "total_stderr",
]

Array = NDArray[np.float64]
OnProgress = Callable[[int, int, str], None]
"""Told the batches done, the batches in all, and what is asked now."""

SCHEMA = "bed-plan/1"

_CALLS = ("belief_calls", "simulator_calls", "belief_calls_sent", "simulator_calls_sent")
_USAGE = ("requests", "prompt_tokens", "completion_tokens")
_HOUR = 3600.0


def measured_steps(num_steps: int) -> tuple[int, ...]:
    """Return the steps of an episode that are measured, from 0: first, middle and last.

    Args:
        num_steps: of the episode, at least 1.
    """
    return tuple(sorted({0, (num_steps - 1) // 2, num_steps - 1}))


def step_weights(num_steps: int) -> Array:
    """Return the weights under which values at the measured steps add up to those of all steps.

    They are exact for values that lie on a polynomial of the least degree through the measured
    ones: a constant for one step, a line for two, else a quadratic.

    Args:
        num_steps: of the episode, at least 1.
    """
    nodes = measured_steps(num_steps)
    steps = np.arange(num_steps, dtype=np.float64)
    basis = [
        np.prod([(steps - other) / (node - other) for other in nodes if other != node], axis=0)
        * np.ones(num_steps)
        for node in nodes
    ]
    return np.asarray(np.sum(basis, axis=1))


@dataclass(frozen=True)
class Batch:
    """What asking once, about one step of several episodes, took.

    Attributes:
        rows: which episodes of the trial took part.
        weights: how often each one's part counts, shape (len(rows),).
        calls: belief and simulator queries asked, then those sent, shape (len(rows), 4).
        usage: endpoint -> requests, prompt_tokens, completion_tokens of all of them together.
        seconds: by the wall clock.
    """

    rows: Sequence[int]
    weights: Array
    calls: Array
    usage: Mapping[str, Mapping[str, float]]
    seconds: float

    @property
    def weight(self) -> float:
        """How often the whole batch counts: the mean weight of a query that was sent."""
        sent = self.calls[:, 2:].sum(axis=1)
        return float(np.average(self.weights, weights=sent if sent.any() else None))


@dataclass(frozen=True)
class Cost:
    """What whole episodes of the trial take.

    Attributes:
        calls: of each episode, columns as in `Batch`, shape (num_episodes, 4).
        usage: as in `Batch`, of all episodes together.
        seconds: likewise.
    """

    calls: Array
    usage: Mapping[str, Mapping[str, float]]
    seconds: float

    def __add__(self, other: "Cost") -> "Cost":
        """Return what both take, one after the other."""
        usage = {}
        for name in {**self.usage, **other.usage}:
            ours, theirs = (of.usage.get(name, {}) for of in (self, other))
            usage[name] = {key: ours.get(key, 0.0) + theirs.get(key, 0.0) for key in _USAGE}
        return Cost(self.calls + other.calls, usage, self.seconds + other.seconds)


def job_cost(batches: Sequence[Batch], num_episodes: int) -> Cost:
    """Return what the trial's episodes take, from what was measured of them.

    Queries are known of each episode. Tokens and seconds are known of a whole batch: it counts as
    often as its queries do on average, which matters only where episodes differ in their steps.

    Args:
        batches: all that was measured of a policy or a tracker; none costs nothing.
        num_episodes: of the trial.
    """
    calls = np.zeros((num_episodes, len(_CALLS)))
    total = Cost(calls, {}, 0.0)
    for batch in batches:
        calls = np.zeros_like(calls)
        calls[list(batch.rows)] = batch.weights[:, None] * batch.calls
        usage = {
            name: {key: batch.weight * counts.get(key, 0.0) for key in _USAGE}
            for name, counts in batch.usage.items()
        }
        total += Cost(calls, usage, batch.weight * batch.seconds)
    return total


def total_stderr(per_episode: Array, num_episodes: int) -> Array:
    """Return the standard error of a job's total that a few of its episodes predict.

    sd N sqrt(1/M - 1/N): the M episodes of the trial are among the N of the job, so nothing is
    unknown where they are all of it.

    Args:
        per_episode: figures of the trial's episodes, shape (M, ...).
        num_episodes: N, at least M.

    Returns:
        Shape (...); NaN where one episode shows no spread.
    """
    count = len(per_episode)
    if count == num_episodes:
        return np.zeros(per_episode.shape[1:])
    if count == 1:
        return np.full(per_episode.shape[1:], np.nan)
    share = math.sqrt(1.0 / count - 1.0 / num_episodes)
    return np.asarray(per_episode.std(axis=0, ddof=1) * num_episodes * share)


def plan_job(
    sources: Sources,
    path: Path,
    num_episodes: int,
    policies: Sequence[str] = (),
    num_steps: int | None = None,
    trial: int = 8,
    hours: float = 24.0,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> dict[str, Any]:
    """Measure a few calls and return what the job will take, as strict JSON (`bed-plan/1`).

    Args:
        sources: the engine and its connections, without a cache: remembered calls look free.
        path: of the episode file; its test split is the sample.
        num_episodes: of the job.
        policies: by name; none means all of the engine's.
        num_steps: experiments an episode; all by default.
        trial: how many episodes are measured, at most those of the job.
        hours: that the job may take; for them the replicas are counted.
        seed: of the sample and of every draw.
        on_progress: told about each batch before it is asked.

    Returns:
        `policies`, `trackers` and `total` hold `belief_calls`, `simulator_calls`, both `_sent`,
        `stderr` of these four (null for one episode), `hours`, and `endpoints`: requests and tokens
        by name (tokens null where a server does not count them). `endpoints` holds the replicas at
        hand and those `needed`, `per_episode` the mean of the total, `left_out` what failed,
        `assumptions` what all of it rests on.

    Raises:
        DataError: for a number below its least, an episode file without test episodes, or an
            endpoint whose every call failed.
    """
    for name, value in (("episodes", num_episodes), ("trial", trial)):
        if value < 1:
            raise DataError(f"{name} is {value}; at least one episode is needed")
    if not 0 < hours < math.inf:
        raise DataError(f"hours is {hours:g}; it must be above 0 and finite")
    study = engine_study(sources, path, policies, min(trial, num_episodes), num_steps, seed)
    meter = _Meter(sources, _num_batches(study), on_progress)
    _warm_up(study, meter)
    of_policies = {name: list(_policy_batches(study, name, meter)) for name in study.policies}
    of_trackers = list(_tracker_batches(study, meter))
    batches = [*chain(*of_policies.values()), *of_trackers]
    costs = {name: job_cost(of, len(study.episodes)) for name, of in of_policies.items()}
    trackers = job_cost(of_trackers, len(study.episodes))
    told = partial(
        _told, num_episodes=num_episodes, uncounted=_uncounted(sources.transports, batches)
    )
    whole = told(reduce(Cost.__add__, costs.values(), trackers))
    endpoints = {
        name: _endpoint(sources.engine, name, batches, whole["hours"] / hours)
        for name in sources.transports
    }
    gpus = sum(of["replicas"] * of["gpus_per_replica"] for of in endpoints.values())
    return {
        "schema": SCHEMA,
        "episodes": num_episodes,
        "steps": study.steps,
        "seed": seed,
        "trial": _trial(study),
        "policies": {name: told(cost) for name, cost in costs.items()},
        "trackers": told(trackers),
        "total": whole,
        "per_episode": _per_episode(whole, num_episodes, gpus),
        "endpoints": endpoints,
        "gpus": gpus,
        "within_hours": hours,
        "gpus_needed": sum(of["gpus_needed"] for of in endpoints.values()),
        "left_out": meter.left_out(),
        "assumptions": _assumptions(study, path, endpoints, hours),
    }


def _num_batches(study: Study) -> int:
    """Return how many batches are measured, the warming up included."""
    at_most = max(len(measured_steps(_num_steps(study, e))) for e in study.episodes)
    return len(study.policies) * (1 + at_most) + len(study.trackers) * (2 + at_most)


@dataclass(frozen=True)
class _Answer:
    """What one episode's part of a batch asked, and what failed of it."""

    calls: Calls
    reasons: Sequence[str]


class _Meter:
    """Measures batches of questions and keeps what failed."""

    def __init__(self, sources: Sources, num_batches: int, on_progress: OnProgress | None) -> None:
        self._sources, self._on_progress = sources, on_progress
        self._done, self._num_batches = 0, num_batches
        self._failed: dict[str, list[str]] = {}
        self._first = sources.tallies()

    def measure(
        self,
        what: str,
        rows: Sequence[int],
        weights: Sequence[float],
        ask: Callable[[], Sequence[_Answer]],
    ) -> Batch:
        """Return what asking took.

        Args:
            what: is asked, and to whom, in words; failures are kept under it.
            rows: see `Batch`.
            weights: likewise.
            ask: asks and returns an answer for each row.

        Raises:
            DataError: where every call to an endpoint failed so far.
        """
        who = what.partition(",")[0]
        if self._on_progress is not None:
            self._on_progress(self._done, self._num_batches, what)
        before, started = self._sources.tallies(), time.perf_counter()
        answers = ask()
        seconds, after = time.perf_counter() - started, self._sources.tallies()
        self._done += 1
        self._failed.setdefault(who, []).extend(why for of in answers for why in of.reasons)
        usage = {name: _usage(before[name], after[name]) for name in after}
        for name in usage:
            num_failed, num_sent = self._failures(name)
            if num_failed and num_failed >= num_sent:
                raise DataError(
                    f"all {num_failed:,} requests to endpoint {name!r} failed, so nothing can be "
                    f"planned; the first reason: {self._reason(name)}. Try `bed engine check`"
                )
        calls = [
            (c.belief, c.simulator, c.belief_sent, c.simulator_sent)
            for c in (of.calls for of in answers)
        ]
        return Batch(
            rows, np.array(weights, dtype=float), np.array(calls, dtype=float), usage, seconds
        )

    def left_out(self) -> list[str]:
        """Return a line on all that failed, for each endpoint, policy and tracker."""
        lines = []
        for name in self._sources.transports:
            num_failed, num_sent = self._failures(name)
            if num_failed:
                lines.append(
                    f"endpoint {name}: {num_failed:,} of {num_sent:,} requests failed, and what "
                    f"they would have cost is left out; the first reason: {self._reason(name)}"
                )
        for who, reasons in self._failed.items():
            if reasons:
                lines.append(
                    f"{who}: {len(reasons):,} failures, after which less may have been asked than "
                    f"will be where nothing fails; the first: {reasons[0]}"
                )
        return lines

    def _failures(self, endpoint: str) -> tuple[int, int]:
        """Return how many requests failed for good, and how many were made."""
        counts, first = self._sources.tallies()[endpoint], self._first[endpoint]
        failed, sent, again = (
            counts.get(key, 0) - first.get(key, 0) for key in ("failures", "requests", "retries")
        )
        return failed, sent - again

    def _reason(self, endpoint: str) -> str:
        reasons = [why for found in self._failed.values() for why in found]
        urls = self._sources.engine.endpoint(endpoint).listed()
        told = [why for why in reasons if any(url in why for url in urls)]
        return (told or reasons or ["not known"])[0]


def _usage(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, int]:
    """Return what was sent meanwhile, without what was tried again."""
    found = {key: after.get(key, 0) - before.get(key, 0) for key in (*_USAGE, "retries")}
    found["requests"] -= found.pop("retries")
    return found


def _num_steps(study: Study, episode: Episode) -> int:
    return min(study.steps, len(episode.pool))


def _placed(study: Study, at: int) -> Iterator[tuple[int, int, float]]:
    """Yield place, step and weight of the episodes that have so many measured steps."""
    for row, episode in enumerate(study.episodes):
        num_steps = _num_steps(study, episode)
        if at < len(steps := measured_steps(num_steps)):
            yield row, steps[at], float(step_weights(num_steps)[at])


def _order(study: Study, who: str, episode: Episode) -> list[int]:
    """Return places of the pool in the order in which their outcomes are revealed.

    It differs between policies, as in a run: prompts that they shared would come from the servers'
    prefix cache.
    """
    return sorted(
        range(len(episode.pool)),
        key=lambda place: derive_seed(study.seed, "plan", who, episode.id, place),
    )


def _problem(study: Study, name: str, row: int, step: int) -> DesignProblem:
    """Return the problem that a policy has at a step, as `bed.simulation` poses it."""
    episode = study.episodes[row]
    before = _order(study, name, episode)[:step]
    return DesignProblem(
        episode.target,
        tuple(episode.pool[place] for place in before),
        tuple(
            stub.experiment
            for place, stub in enumerate(episode.pool)
            if stub.experiment.is_repeatable or place not in before
        ),
        derive_seed(study.seed, episode.id, step),
        episode.id,
    )


def _policy_batches(study: Study, name: str, meter: _Meter) -> Iterator[Batch]:
    for at in range(3):
        if placed := list(_placed(study, at)):
            rows, steps, weights = zip(*placed, strict=True)
            problems = [_problem(study, name, *of) for of in zip(rows, steps, strict=True)]
            yield meter.measure(
                f"{name}, step {max(steps) + 1}",
                rows,
                weights,
                partial(_chosen, study.policies[name], problems),
            )


def _chosen(policy: Policy, problems: Sequence[DesignProblem]) -> list[_Answer]:
    return [
        _Answer(
            choice.calls,
            choice.failures or ((choice.fallback,) if choice.fallback is not None else ()),
        )
        for choice in policy.choose(problems)
    ]


def _tracker_batches(study: Study, meter: _Meter) -> Iterator[Batch]:
    """Yield what trackers are asked: once before any experiment, then after each one.

    The policies' paths are alike to them, so that one is measured for all.
    """
    for name, tracker in study.trackers.items():
        start = [(row, 0, 1.0) for row in range(len(study.episodes))]
        after = [
            [(row, step + 1, weight * len(study.policies)) for row, step, weight in placed]
            for at in range(3)
            if (placed := list(_placed(study, at)))
        ]
        for batch in (start, *after):
            rows, shown, weights = zip(*batch, strict=True)
            known = list(zip(rows, shown, strict=True))
            yield meter.measure(
                f"tracker {name}, {max(shown)} shown",
                rows,
                weights,
                partial(_tracked, tracker, study, known),
            )


def _tracked(tracker: BeliefModel, study: Study, known: Sequence[tuple[int, int]]) -> list[_Answer]:
    queries = []
    for row, num_shown in known:
        episode = study.episodes[row]
        shown = _order(study, "tracker", episode)[:num_shown]
        evidence = tuple(episode.pool[place] for place in shown)
        seed = derive_seed(study.seed, "tracker", episode.id)
        queries.append(BeliefQuery(episode.target, evidence, seed))
    one = Calls(belief=1, belief_sent=1)
    return [
        _Answer(one, () if reason is None else (reason,))
        for reason in tracker.probabilities(queries).reasons
    ]


def _warm_up(study: Study, meter: _Meter) -> None:
    """Ask every model a little, so that what happens once (loading, connecting) is not measured."""
    episode = study.episodes[0]
    problem = DesignProblem(
        episode.target, (), (episode.pool[0].experiment,), study.seed, episode.id
    )
    for name, policy in study.policies.items():
        meter.measure(f"{name}, warming up", [0], [1.0], partial(_chosen, policy, [problem]))
    for name, tracker in study.trackers.items():
        ask = partial(_tracked, tracker, study, [(0, 0)])
        meter.measure(f"tracker {name}, warming up", [0], [1.0], ask)


def _told(cost: Cost, num_episodes: int, uncounted: frozenset[str]) -> dict[str, Any]:
    """Return a cost scaled to the job, as JSON."""
    factor = num_episodes / len(cost.calls)
    stderr = total_stderr(cost.calls, num_episodes)
    return {
        **{key: round(factor * of) for key, of in zip(_CALLS, cost.calls.sum(axis=0), strict=True)},
        "stderr": {
            key: None if np.isnan(of) else float(of) for key, of in zip(_CALLS, stderr, strict=True)
        },
        "hours": factor * cost.seconds / _HOUR,
        "endpoints": {
            name: {
                key: None
                if name in uncounted and key != "requests"
                else round(factor * counts[key])
                for key in _USAGE
            }
            for name, counts in cost.usage.items()
        },
    }


def _uncounted(endpoints: Iterable[str], batches: Sequence[Batch]) -> frozenset[str]:
    """Return the endpoints whose servers say nothing of tokens."""
    return frozenset(
        name
        for name in endpoints
        if any(batch.usage[name]["requests"] for batch in batches)
        and not any(batch.usage[name]["prompt_tokens"] for batch in batches)
    )


def _endpoint(
    engine: Engine, name: str, batches: Sequence[Batch], speed_up: float
) -> dict[str, Any]:
    """Return the replicas of an endpoint and those that a job so much faster needs."""
    asking = [batch for batch in batches if batch.usage[name]["requests"]]
    fullest = max((batch.usage[name]["requests"] for batch in asking), default=0)
    seconds = sum(batch.seconds for batch in asking)
    tokens = sum(
        batch.usage[name][key] for batch in asking for key in ("prompt_tokens", "completion_tokens")
    )
    settings = engine.endpoint(name)
    replicas = max(len(settings.listed()), 1)
    gpus = _gpus_per_replica(engine, name)
    needed = max(math.ceil(replicas * speed_up), 1) if asking else 0
    return {
        "replicas": replicas,
        "gpus_per_replica": gpus,
        "most_in_flight": min(settings.max_in_flight * replicas, int(fullest)),
        "may_be_in_flight": settings.max_in_flight * replicas,
        "tokens_per_second": tokens / seconds if tokens and seconds else None,
        "replicas_needed": needed,
        "gpus_needed": needed * gpus,
    }


def _gpus_per_replica(engine: Engine, endpoint: str) -> int:
    """Return how many GPUs the server of an endpoint takes, 1 where the file does not say."""
    server = engine.server_of(endpoint)
    if server is None:
        return 1
    if server.device == "cpu":
        return 0
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--tensor-parallel-size", "-tp", type=int, default=1, dest="gpus")
    try:
        found, _ = parser.parse_known_args(list(server.extra_args))
    except argparse.ArgumentError as error:
        raise DataError(
            f"{engine.file}: extra_args of [serve.{engine.endpoints[endpoint].serve}]: {error}; "
            "give a number of GPUs"
        ) from error
    return int(found.gpus)


def _trial(study: Study) -> dict[str, Any]:
    domains = [canonical(episode.target.domain) for episode in study.episodes]
    pools = [len(episode.pool) for episode in study.episodes]
    return {
        "episodes": len(study.episodes),
        "domains": {name: domains.count(name) for name in sorted(set(domains))},
        "pools": [min(pools), max(pools)],
        "steps": [step + 1 for step in measured_steps(study.steps)],
    }


def _per_episode(whole: Mapping[str, Any], num_episodes: int, gpus: int) -> dict[str, Any]:
    seconds = whole["hours"] * _HOUR / num_episodes
    tokens = [
        of[key]
        for of in whole["endpoints"].values()
        for key in ("prompt_tokens", "completion_tokens")
    ]
    return {
        **{key: whole[key] / num_episodes for key in _CALLS},
        "tokens": None if None in tokens else sum(tokens) / num_episodes,
        "seconds": seconds,
        "gpu_seconds": seconds * gpus,
    }


def _assumptions(
    study: Study, path: Path, endpoints: Mapping[str, Mapping[str, Any]], hours: float
) -> list[str]:
    trial = _trial(study)
    mix = ", ".join(f"{count} {name}" for name, count in trial["domains"].items())
    pools = " to ".join(str(size) for size in dict.fromkeys(trial["pools"]))
    steps = ", ".join(map(str, trial["steps"]))
    between = (
        "those between lie on the quadratic through them"
        if study.steps > len(trial["steps"])
        else "that is all of them"
    )
    lines = [
        f"The job's episodes are like the {trial['episodes']} test episodes of {path.name} that "
        f"were asked about: {mix}; pools of {pools} experiments. Standard errors come from the "
        "spread between them, and concern queries alone.",
        f"Of {study.steps} steps an episode, {steps} were measured (where its pool is smaller, its "
        f"own first, middle and last); {between}. Evidence is the true outcomes of experiments "
        "drawn at random; a policy that prefers long or short ones differs.",
        "Questions that are alike in several episodes are sent once: a larger job sends fewer.",
        "Hours are those of one process that runs the policies one after the other, and grow with "
        "the episodes.",
    ]
    if not endpoints:
        return [*lines, "Nothing is served: all hours are this machine's."]
    for name, of in endpoints.items():
        if not of["replicas_needed"]:
            lines.append(f"This job does not ask {name}.")
            continue
        replicas = "1 replica" if of["replicas"] == 1 else f"{of['replicas']} replicas"
        line = (
            f"The throughput of {name} was measured on {replicas} with at most "
            f"{of['most_in_flight']} requests in flight"
        )
        if of["most_in_flight"] < of["may_be_in_flight"]:
            line += (
                f", where {of['may_be_in_flight']} may be: the job is faster than this says; a "
                "larger --trial tells by how much"
            )
        lines.append(f"{line}.")
    return [
        *lines,
        f"For {hours:g} hours, the replicas of all endpoints are multiplied alike, and so many "
        "times the replicas take so many times less. A replica takes as many GPUs as the file's "
        "server has in --tensor-parallel-size (none on a CPU); one where the file has no server.",
        "No request fails, none is answered from a cache of bed's, and as many answers as here "
        "are asked for again because they cannot be read. Several prompts of a batch are one "
        "request: a larger job fills them better and makes fewer.",
    ]
