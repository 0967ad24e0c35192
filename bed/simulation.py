"""The lockstep simulation of experiment selection (Ibis0 / EDB-Bio, section 6).

Every policy runs through every episode: it sees the evidence revealed so far, chooses among the
rest of the pool, and the true outcome is revealed. All episodes advance one step at a time, some
hundred episodes together, so that each step is a few large batches of model calls and what they
hold in memory does not grow with the number of episodes. Fixed trackers score every trajectory
alike.

A run is checkpointed as it goes and resumes to the identical dataset, because all
randomness derives from (run seed, episode, step) and the rest is a function of what was chosen.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bed.domains import canonical, relation
from bed.errors import BedError, DataError
from bed.evidence import Episode, Evidence, to_json
from bed.protocols import BeliefModel, BeliefQuery, Beliefs, Choice, DesignProblem, Policy
from bed.runs import SCHEMA, load_run, load_usage, save_run
from bed.seeds import derive_seed

__all__ = ["Study", "simulate"]

_EPISODES_AT_ONCE = 256

_PER_CHOICE = {
    "chosen": (np.int16, -1, "pool index of the experiment run; -1 where none was"),
    "num_tied": (np.int16, 0, "candidates that shared the best worth"),
    "within_noise": (np.int16, 0, "candidates that cannot be told from the best, itself included"),
    "promised": (np.float64, np.nan, "bits promised: EIG of the chosen candidate"),
    "failed": (np.int16, 0, "candidates that could not be scored"),
    "belief_calls": (np.int32, 0, "belief queries asked"),
    "simulator_calls": (np.int32, 0, "outcomes asked"),
    "belief_calls_sent": (np.int32, 0, "belief queries sent, identical ones once"),
    "simulator_calls_sent": (np.int32, 0, "outcomes sent, identical ones once"),
}
_Arrays = dict[str, np.ndarray]

_WORDS_PER_CHOICE = {
    "reason": "why a candidate or the choice failed",
    "doubt": "why the scores are not to be trusted",
    "fallback": "why the choice was made at random instead",
}

_PER_CANDIDATE = {
    "worth": "what the policy ranks by; NaN where not scored or already run",
    "coherence_gap": "weighted mean of the posteriors minus the prior",
    "raw_coherence_gap": "the same before branch weights were moved to base rates",
}


@dataclass(frozen=True)
class Study:
    """What a simulation runs.

    Attributes:
        episodes: all of them with the outcomes of their pools.
        policies: name -> policy.
        trackers: name -> belief model that scores trajectories; the first is the main one.
        seed: what every draw derives from.
        num_steps: experiments an episode, at most; None runs every pool to its end.
        setup: what else the run depends on, such as digests of fitted models; kept in the run and
            compared, with the plain settings of policies and trackers, when it is resumed.
    """

    episodes: Sequence[Episode]
    policies: Mapping[str, Policy]
    trackers: Mapping[str, BeliefModel]
    seed: int = 0
    num_steps: int | None = None
    setup: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not self.episodes:
            raise DataError("no episodes to simulate: at least one is needed")
        if not self.policies or not self.trackers:
            raise DataError("a simulation needs at least one policy and one tracker")
        if self.num_steps is not None and self.num_steps < 1:
            raise DataError(f"steps is {self.num_steps}; at least one step is needed")
        if empty := [episode.id for episode in self.episodes if not episode.pool]:
            raise DataError(f"episode {empty[0]!r} has an empty pool; leave it out")
        object.__setattr__(self, "seed", int(self.seed))
        ids = [episode.id for episode in self.episodes]
        if len(set(ids)) < len(ids):
            raise DataError("duplicate episode ids; each may stand in a study once")

    @property
    def steps(self) -> int:
        """How many steps the longest pool allows."""
        longest = max(len(episode.pool) for episode in self.episodes)
        return longest if self.num_steps is None else min(self.num_steps, longest)

    def fingerprint(self) -> str:
        """Return JSON of everything that the result depends on."""
        digest = hashlib.sha256()
        for episode in self.episodes:
            digest.update(to_json(episode).encode())
        return json.dumps(
            {
                "episodes": digest.hexdigest(),
                "policies": {name: _settings(policy) for name, policy in self.policies.items()},
                "trackers": {name: _settings(model) for name, model in self.trackers.items()},
                "seed": self.seed,
                "steps": self.steps,
                "setup": dict(self.setup or {}),
            },
            sort_keys=True,
        )

    def check_same(self, run: xr.Dataset, path: Path) -> None:
        """Raise DataError where a stored run belongs to another study, naming what differs."""
        theirs, ours = json.loads(run.attrs["fingerprint"]), json.loads(self.fingerprint())
        if differing := sorted(key for key in ours if ours[key] != theirs.get(key)):
            raise DataError(
                f"{path} belongs to another study: {', '.join(differing)} differ; "
                "resume with the same options, or choose another file"
            )


def _settings(model: object) -> dict[str, Any]:
    """Return the name of a model's class and its plain fields, those of its parts included.

    Where a model stands for another, whose answers it gives, it is the other.
    """
    model = getattr(model, "stands_for", model)
    found: dict[str, Any] = {"class": type(model).__name__}
    if is_dataclass(model):
        for item in fields(model):
            value = getattr(model, item.name)
            if value is None or isinstance(value, bool | int | float | str):
                found[item.name] = value
            elif is_dataclass(value):
                found[item.name] = _settings(value)
    return found


def simulate(
    study: Study,
    checkpoint: Path | None = None,
    resume: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
    usage: Callable[[], Mapping[str, Any]] = dict,
) -> xr.Dataset:
    """Run a study to its end.

    Args:
        study: what to run.
        checkpoint: where to keep the run as it goes, and at last the finished one.
        resume: continue from the checkpoint where there is one.
        on_progress: called with steps of episodes done and in all, over all policies.
        usage: what was asked of endpoints so far; kept beside the run for each sitting.

    Returns:
        A dataset over (tracker, policy, episode, step, candidate), enough to redraw every table.
        `belief` has one step more than the choices: step 0 is before any experiment.

    Raises:
        DataError: where the checkpoint belongs to another study.
        bed.transport.EndpointDownError: where model servers are gone; what was recorded stays, and
            the run can be resumed.
    """
    run, sittings = _blank(study), []
    if checkpoint is not None and resume and checkpoint.exists():
        run, sittings = load_run(checkpoint), load_usage(checkpoint)
        study.check_same(run, checkpoint)
    blocks = _blocks(len(study.episodes))
    positions = [
        (step, policy, rows)
        for step in range(study.steps)
        for policy in study.policies
        for rows in blocks
    ]
    keeper = _Checkpoint(checkpoint, run, lambda: [*sittings, usage()])
    num_all = len(study.episodes) * len(study.policies) * study.steps
    num_done = 0
    try:
        if run.attrs["done"] == 0:
            for rows in blocks:
                _track_start(study, run, rows)
        for done, (step, name, rows) in enumerate(positions):
            if done >= run.attrs["done"]:
                _advance(study, run, step, name, rows)
                run.attrs["done"] = done + 1
                keeper.offer()
            num_done += len(rows)
            if on_progress is not None:
                on_progress(num_done, num_all)
    finally:
        # also when interrupted: a half-recorded step is not counted and is done again
        keeper.save()
    return run


def _blocks(num_episodes: int) -> list[range]:
    """Return the rows of episodes that advance together."""
    return [
        range(at, min(at + _EPISODES_AT_ONCE, num_episodes))
        for at in range(0, num_episodes, _EPISODES_AT_ONCE)
    ]


class _Checkpoint:
    """Saves a run now and then, spending at most about a tenth of the time on it."""

    def __init__(
        self, path: Path | None, run: xr.Dataset, usage: Callable[[], list[Mapping[str, Any]]]
    ) -> None:
        self.path, self.run, self.usage = path, run, usage
        self._cost = 0.0
        self._saved_at = -np.inf

    def offer(self) -> None:
        if time.monotonic() - self._saved_at >= 10.0 * self._cost:
            self.save()

    def save(self) -> None:
        if self.path is None:
            return
        started = time.monotonic()
        save_run(self.run, self.path, self.usage())
        self._saved_at = time.monotonic()
        self._cost = self._saved_at - started


def _blank(study: Study) -> xr.Dataset:
    episodes = study.episodes
    size = max(len(episode.pool) for episode in episodes)
    num_policies, num_episodes, steps = len(study.policies), len(episodes), study.steps
    tiers = np.zeros((num_episodes, size), dtype=np.int16)
    for row, episode in enumerate(episodes):
        tiers[row, : len(episode.pool)] = [
            relation(episode.target, stub.experiment).tier for stub in episode.pool
        ]
    choice_dims = ("policy", "episode", "choice")
    per_choice = {
        name: (
            choice_dims,
            np.full((num_policies, num_episodes, steps), blank, dtype),
            {"is": text},
        )
        for name, (dtype, blank, text) in _PER_CHOICE.items()
    }
    per_candidate = {
        name: (
            (*choice_dims, "candidate"),
            np.full((num_policies, num_episodes, steps, size), np.nan),
            {"is": text},
        )
        for name, text in _PER_CANDIDATE.items()
    }
    belief = np.full((len(study.trackers), num_policies, num_episodes, steps + 1), np.nan)
    words = {
        name: (
            choice_dims,
            np.full((num_policies, num_episodes, steps), "", dtype=object),
            {"is": text},
        )
        for name, text in _WORDS_PER_CHOICE.items()
    }
    return xr.Dataset(
        {
            "belief": (("tracker", "policy", "episode", "step"), belief, {"is": "p(theta = 1)"}),
            "tier": (
                ("episode", "candidate"),
                tiers,
                {"is": "relevance, 1 most; 0 is no candidate"},
            ),
            **words,
            **per_choice,
            **per_candidate,
        },
        coords={
            "tracker": list(study.trackers),
            "policy": list(study.policies),
            "episode": [episode.id for episode in episodes],
            "domain": ("episode", [_domain(episode) for episode in episodes]),
            "unit": ("episode", [episode.unit for episode in episodes]),
            "label": ("episode", [episode.label for episode in episodes]),
            "step": np.arange(steps + 1),
            "choice": np.arange(1, steps + 1),
            "candidate": np.arange(size),
        },
        attrs={"schema": SCHEMA, "fingerprint": study.fingerprint(), "done": 0},
    )


def _domain(episode: Episode) -> str:
    """Return the domain's own name, so that its aliases are averaged as one domain."""
    return canonical(episode.target.domain)


def _track_start(study: Study, run: xr.Dataset, rows: range) -> None:
    known = [(study.episodes[row], ()) for row in rows]
    for t, (name, tracker) in enumerate(study.trackers.items()):
        prior = _tracked(tracker, study, known)
        run["belief"].values[t, :, rows.start : rows.stop, 0] = prior.probabilities
        for row, why in zip(rows, prior.reasons, strict=True):
            if why is not None:
                run["reason"].values[:, row, 0] = f"tracker {name}: {why}"


def _tracked(
    tracker: BeliefModel, study: Study, known: Sequence[tuple[Episode, Evidence]]
) -> Beliefs:
    queries = [
        BeliefQuery(episode.target, evidence, derive_seed(study.seed, "tracker", episode.id))
        for episode, evidence in known
    ]
    answers = tracker.probabilities(queries)
    if len(answers.probabilities) != len(queries):
        raise BedError(
            f"{type(tracker).__name__} gave {len(answers.probabilities)} answers to "
            f"{len(queries)} questions; mend it"
        )
    return answers


def _evidence(episode: Episode, chosen: Sequence[int]) -> Evidence:
    return tuple(episode.pool[index] for index in chosen if index >= 0)


def _advance(study: Study, run: xr.Dataset, step: int, name: str, block: range) -> None:
    """Let one policy run one experiment in every episode of a block that has one left."""
    arrays = {str(key): variable.values for key, variable in run.data_vars.items()}
    p = list(study.policies).index(name)
    chosen = arrays["chosen"][p]
    rows, problems, open_places = [], [], []
    for row in block:
        episode, before = study.episodes[row], chosen[row, :step].tolist()
        left = [
            place
            for place, stub in enumerate(episode.pool)
            if stub.experiment.is_repeatable or place not in before
        ]
        if not left or -1 in before:
            continue
        rows.append(row)
        open_places.append(left)
        problems.append(
            DesignProblem(
                episode.target,
                _evidence(episode, before),
                tuple(episode.pool[place].experiment for place in left),
                derive_seed(study.seed, episode.id, step),
                episode.id,
            )
        )
    choices = study.policies[name].choose(problems) if problems else []
    for row, places, choice in zip(rows, open_places, choices, strict=True):
        _record(arrays, (p, row, step), places, choice)
    belief = arrays["belief"][:, p, block.start : block.stop]
    # carried forward, then asked for where an outcome was revealed
    belief[:, :, step + 1] = belief[:, :, step]
    _track(study, arrays, p, step, rows)


def _record(
    arrays: _Arrays, at: tuple[int, int, int], places: Sequence[int], choice: Choice
) -> None:
    arrays["worth"][at][places] = choice.worth
    for name in ("coherence_gap", "raw_coherence_gap"):
        gap = getattr(choice, name)
        if gap is not None:
            arrays[name][at][places] = gap
    if choice.index is not None:
        if not 0 <= choice.index < len(places):
            raise BedError(f"a policy chose {choice.index}, outside the range 0..{len(places) - 1}")
        arrays["chosen"][at] = places[choice.index]
        if choice.eig is not None:
            arrays["promised"][at] = choice.eig[choice.index]
    arrays["num_tied"][at] = len(choice.tied)
    arrays["within_noise"][at] = len(choice.within_noise)
    arrays["doubt"][at] = "; ".join(choice.doubts)
    arrays["fallback"][at] = choice.fallback or ""
    arrays["failed"][at] = len(choice.failures)
    if choice.failures or choice.index is None:
        arrays["reason"][at] = choice.failures[0] if choice.failures else choice.reason
    arrays["belief_calls"][at] = choice.calls.belief
    arrays["simulator_calls"][at] = choice.calls.simulator
    arrays["belief_calls_sent"][at] = choice.calls.belief_sent
    arrays["simulator_calls_sent"][at] = choice.calls.simulator_sent


def _track(study: Study, arrays: _Arrays, p: int, step: int, rows: Sequence[int]) -> None:
    """Ask the trackers where an outcome was revealed."""
    belief = arrays["belief"]
    chosen = arrays["chosen"][p]
    moved = [row for row in rows if chosen[row, step] >= 0]
    known = [
        (study.episodes[row], _evidence(study.episodes[row], chosen[row, : step + 1].tolist()))
        for row in moved
    ]
    for t, (name, tracker) in enumerate(study.trackers.items()):
        answers = _tracked(tracker, study, known)
        belief[t, p, moved, step + 1] = answers.probabilities
        for row, reason in zip(moved, answers.reasons, strict=True):
            if reason is not None:
                arrays["reason"][p, row, step] = f"tracker {name}: {reason}"
