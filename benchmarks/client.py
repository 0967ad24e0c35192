"""Belief calls a second through bed's client, beside what the server gives to ready-made batches.

The server's ceiling: the same prompts as token ids, made beforehand, in batches with several in
flight, sent without bed. The client: `ClassifierBelief`, which renders, merges, orders and
tokenises them first. Both send prompts that the server has not seen, of the same lengths;
repeats are interleaved. The ratio is the median over repeats, with its range.

    python -m benchmarks.client EPISODES --url http://127.0.0.1:8000 --model NAME --tokenizer FOLDER

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
from bed.belief.asking import asked
from bed.episodes import read_episodes
from bed.errors import DataError
from bed.evidence import Episode
from bed.protocols import BeliefQuery
from bed.tokens import ChatTemplate
from bed.transport import Endpoint, HttpTransport


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
    parser.add_argument("--rounds", type=int, default=24, help="scoring rounds a repeat")
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
    rates: dict[str, list[float]] = {"ceiling": [], "client": []}
    with HttpTransport(endpoint) as transport:
        belief = ClassifierBelief(
            transport, template, options.model, options.batch, systems=systems
        )
        belief.check()
        for repeat in range(options.repeats + 1):
            prompts = asked(unseen(posed, f"({repeat}, ready)"), systems).prompts
            ids = template.many([prompt for prompt, _ in prompts])
            bodies = [
                json.dumps(
                    {
                        "model": options.model,
                        "input": ids[start : start + options.batch],
                        "use_activation": False,
                    }
                ).encode()
                for start in range(0, len(ids), options.batch)
            ]
            start = time.perf_counter()
            asyncio.run(ceiling(options.url, bodies, options.in_flight))
            middle = time.perf_counter()
            answers = belief.probabilities(unseen(posed, f"({repeat}, asked)"))
            end = time.perf_counter()
            if reasons := [reason for reason in answers.reasons if reason]:
                raise SystemExit(f"{len(reasons)} calls failed; the first: {reasons[0]}")
            # the first repeat warms both up
            if repeat:
                rates["ceiling"].append(len(posed) / (middle - start))
                rates["client"].append(len(posed) / (end - middle))
    show(rates, [len(of) for of in ids])


def show(rates: dict[str, list[float]], lengths: Sequence[int]) -> None:
    """Print the table."""
    console = Console(width=100)
    table = Table(
        title=f"{len(lengths)} prompts of {int(np.mean(lengths))} tokens on average",
        title_justify="left",
    )
    for column in ("", "prompts/s, median", "lowest", "highest"):
        table.add_column(column, justify="right" if column else "left")
    ratio = [ours / most for ours, most in zip(rates["client"], rates["ceiling"], strict=True)]
    rows: dict[str, tuple[Any, str]] = {
        "server's ceiling": (rates["ceiling"], ".0f"),
        "bed's client": (rates["client"], ".0f"),
        "ratio": (ratio, ".2f"),
    }
    for name, (values, spec) in rows.items():
        shown = (np.median(values), min(values), max(values))
        table.add_row(name, *(format(value, spec) for value in shown))
    console.print(table)


if __name__ == "__main__":
    main()
