"""Belief calls a second through bed's client, beside what the server gives to ready-made batches.

The server's ceiling: the same prompts as token ids, made beforehand, in batches with several in
flight, sent without bed. Ids through bed: the same by `bed.transport`. The client, from questions:
`ClassifierBelief`, which renders, merges, orders and tokenises them first. It needs a core of its
own: tokenising on the cores of the server slows the server. All send prompts that the server has
not seen, of the same lengths; repeats are interleaved. Ratios are medians, with their range.

    taskset -c 0 bed serve ENGINE.toml NAME
    taskset -c 1 python -m benchmarks.client EPISODES --url URL --model NAME --tokenizer FOLDER

Needs the extra `http`, an episode file, and a classifier served by vLLM.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bed.belief import ClassifierBelief
from bed.belief.asking import Asked, asked, shared_start
from bed.episodes import read_episodes
from bed.errors import DataError
from bed.evidence import Episode
from bed.protocols import BeliefQuery
from bed.tokens import ChatTemplate
from bed.transport import Call, Endpoint, HttpTransport

_CEILING = "server's ceiling"
_IDS = "ids through bed"
_CLIENT = "client, from questions"


def rounds(episodes: Sequence[Episode], num_known: int, count: int) -> list[list[BeliefQuery]]:
    """Return the posterior questions of scoring rounds, one list an episode.

    Args:
        episodes: with real outcomes, which stand for simulated ones.
        num_known: pieces of evidence before the round.
        count: how many rounds.
    """
    found = []
    for episode in islice(episodes, count):
        known, rest = episode.pool[:num_known], episode.pool[num_known:]
        if not rest:
            raise DataError(f"episode {episode.id!r} has no candidate beyond --known {num_known}")
        found.append([BeliefQuery(episode.target, (*known, stub)) for stub in rest])
    return found


async def ceiling(url: str, bodies: Sequence[bytes], in_flight: int) -> None:
    """Send ready-made bodies, so many at once."""
    import aiohttp

    left = iter(bodies)
    async with aiohttp.ClientSession() as session:

        async def work() -> None:
            for body in left:
                headers = {"Content-Type": "application/json"}
                async with session.post(f"{url}/classify", data=body, headers=headers) as answer:
                    answer.raise_for_status()
                    await answer.read()

        await asyncio.gather(*(work() for _ in range(in_flight)))


def batches(found: Asked, template: ChatTemplate, options: argparse.Namespace) -> list[Call]:
    """Return the calls of prompts, as token ids."""
    prompts = [prompt for prompt, _ in found.prompts]
    ids = template.many(prompts)
    return [
        Call(
            "/classify",
            {
                "model": options.model,
                "input": ids[at : at + options.batch],
                "use_activation": False,
            },
            shared_start(prompts[at]),
        )
        for at in range(0, len(ids), options.batch)
    ]


def unseen(queries: Sequence[BeliefQuery], mark: str) -> list[BeliefQuery]:
    """Return the questions under claims that no server has seen, of the same length."""
    return [
        replace(query, hypothesis=replace(query.hypothesis, text=f"{query.hypothesis.text} {mark}"))
        for query in queries
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("episodes", type=Path)
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--rounds", type=int, default=48, help="scoring rounds a repeat")
    parser.add_argument("--known", type=int, default=4, help="pieces of evidence before a round")
    parser.add_argument("--batch", type=int, default=64, help="prompts of one request")
    parser.add_argument("--in-flight", type=int, default=2, help="requests at once")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--system", default="Judge the target hypothesis.", help="system prompt")
    options = parser.parse_args()
    episodes = read_episodes(options.episodes, "test").episodes
    posed = [
        query for of_round in rounds(episodes, options.known, options.rounds) for query in of_round
    ]
    systems = dict.fromkeys({episode.target.domain for episode in episodes}, options.system)
    template = ChatTemplate(options.tokenizer)
    endpoint = Endpoint((options.url,), max_in_flight=options.in_flight)
    rates: dict[str, list[float]] = {_CEILING: [], _IDS: [], _CLIENT: []}
    with HttpTransport(endpoint) as transport:
        belief = ClassifierBelief(
            transport, template, options.model, options.batch, systems=systems
        )
        belief.check()
        for repeat in range(options.repeats + 1):
            calls = {
                mark: batches(
                    asked(unseen(posed, f"({repeat}, {mark})"), systems), template, options
                )
                for mark in (_CEILING, _IDS)
            }
            bodies = [json.dumps(call.body).encode() for call in calls[_CEILING]]
            questions = unseen(posed, f"({repeat}, {_CLIENT})")
            times = [time.perf_counter()]
            asyncio.run(ceiling(options.url, bodies, options.in_flight))
            times.append(time.perf_counter())
            replies = transport.send(calls[_IDS])
            times.append(time.perf_counter())
            answers = belief.probabilities(questions)
            times.append(time.perf_counter())
            failed = [of.reason for of in replies if of.reason] + [*filter(None, answers.reasons)]
            if failed:
                raise SystemExit(f"{len(failed)} calls failed; the first: {failed[0]}")
            # the first repeat warms all of them up
            for name, seconds in zip(rates, np.diff(times), strict=True):
                rates[name] += [len(posed) / seconds] if repeat else []
    show(rates, [len(ids) for call in calls[_CEILING] for ids in call.body["input"]])


def show(rates: dict[str, list[float]], lengths: Sequence[int]) -> None:
    """Print the table."""
    console = Console(width=100)
    table = Table(
        title=f"{len(lengths)} prompts of {int(np.mean(lengths))} tokens on average",
        title_justify="left",
    )
    for column in ("", "prompts/s, median", "lowest", "highest"):
        table.add_column(column, justify="right" if column else "left")
    rows: dict[str, tuple[Any, str]] = {name: (values, ".0f") for name, values in rates.items()}
    for name in (_IDS, _CLIENT):
        rows[f"{name}, ratio"] = (np.divide(rates[name], rates[_CEILING]), ".2f")
    for name, (values, spec) in rows.items():
        shown = (np.median(values), min(values), max(values))
        table.add_row(name, *(format(value, spec) for value in shown))
    console.print(table)


if __name__ == "__main__":
    main()
