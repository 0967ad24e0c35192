"""The classifier endpoint gives what the model gives, alone or in company."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bed.belief import ClassifierBelief, TransformersBelief
from bed.chat import Chat
from bed.episodes import EpisodeFile
from bed.estimators import FactoredEIG
from bed.evidence import Episode, Stub
from bed.protocols import BeliefQuery, Beliefs, DesignProblem
from bed.simulators import GenerativeSimulator
from bed.tokens import ChatTemplate
from bed.transport import HttpTransport
from tests.served.conftest import BELIEF, MAX_LENGTH, SIMULATE, counter


def queries(episodes: Sequence[Episode]) -> list[BeliefQuery]:
    """About targets and local hypotheses, with 0 to 16 stubs."""
    found = []
    for number, episode in enumerate(episodes):
        known = episode.pool[: number % 17]
        local = episode.pool[-1].experiment.hypothesis
        found += [BeliefQuery(episode.target, known), BeliefQuery(local, known[:8])]
    return found


def test_equals_the_model_in_process(
    classifier: ClassifierBelief, models: Path, template: ChatTemplate, test_split: EpisodeFile
) -> None:
    asked = queries(test_split.episodes[:40])
    in_process = TransformersBelief(
        str(models / "classifier"), template, device="cpu", systems=BELIEF
    ).probabilities(asked)
    served = classifier.probabilities(asked)
    assert served.reasons == in_process.reasons == (None,) * len(asked)
    assert np.ptp(served.probabilities) > 0.5
    np.testing.assert_allclose(served.probabilities, in_process.probabilities, rtol=0, atol=1e-5)


def test_batch_equals_single(classifier: ClassifierBelief, test_split: EpisodeFile) -> None:
    asked = queries(test_split.episodes[40:60])
    batch = classifier.probabilities(asked).probabilities
    single = [classifier.probabilities([query]).probabilities[0] for query in asked]
    np.testing.assert_allclose(batch, single, rtol=0, atol=1e-5)


def test_it_learned_from_the_evidence(
    classifier: ClassifierBelief, test_split: EpisodeFile
) -> None:
    episodes = test_split.episodes[::8]
    asked = [BeliefQuery(episode.target, episode.pool) for episode in episodes]
    p = classifier.probabilities(asked).probabilities
    labels = np.array([episode.label for episode in episodes])
    gain = 0.25 - (p - labels) ** 2
    # training differs a little from one kind of CPU to another; 600 episodes gave 6 standard errors
    assert gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(gain.size)


def test_the_head_passes_the_check(classifier: ClassifierBelief) -> None:
    assert len(classifier.check()) > 1


def test_a_prompt_that_is_too_long_fails_alone(
    classifier: ClassifierBelief, test_split: EpisodeFile
) -> None:
    asked = queries(test_split.episodes[60:100])
    alone = classifier.probabilities(asked)
    stubs = tuple(stub for episode in test_split.episodes[:20] for stub in episode.pool)
    assert len(stubs) * 20 > MAX_LENGTH
    asked.insert(33, BeliefQuery(test_split.episodes[0].target, stubs))
    found = classifier.probabilities(asked)
    reason = found.reasons[33]
    assert reason is not None
    assert "maximum context length" in reason
    assert [number for number, why in enumerate(found.reasons) if why is not None] == [33]
    np.testing.assert_allclose(
        np.delete(found.probabilities, 33), alone.probabilities, rtol=0, atol=1e-5
    )


class Metered:
    """Asks about the target and about local hypotheses apart, with the cache read between."""

    def __init__(self, belief: ClassifierBelief, target: str) -> None:
        self.belief, self.target = belief, target
        self.tokens = {"posterior": [0.0, 0.0], "branch weight": [0.0, 0.0]}

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        values = np.full(len(queries), np.nan)
        reasons: list[str | None] = [None] * len(queries)
        for name in self.tokens:
            is_posterior = name == "posterior"
            rows = [
                i
                for i, q in enumerate(queries)
                if (q.hypothesis.text == self.target) is is_posterior
            ]
            before = self._read()
            found = self.belief.probabilities([queries[i] for i in rows])
            for place, (now, then) in enumerate(zip(self._read(), before, strict=True)):
                self.tokens[name][place] += now - then
            values[rows] = found.probabilities
            for i, reason in zip(rows, found.reasons, strict=True):
                reasons[i] = reason
        return Beliefs(values, tuple(reasons))

    def _read(self) -> tuple[float, float]:
        transport: Any = self.belief.transport
        assert isinstance(transport, HttpTransport)
        return (
            counter(transport, "prefix_cache_hits_total"),
            counter(transport, "prefix_cache_queries_total"),
        )

    def rate(self, name: str) -> float:
        hits, asked = self.tokens[name]
        return hits / asked


def same_line(episodes: Sequence[Episode], episode: Episode, count: int) -> tuple[Stub, ...]:
    """What other episodes of the target's cell line know, as evidence."""
    line = episode.target.fields["cell_line"]
    own = {stub.experiment.id for stub in episode.pool}
    found = {
        stub.experiment.id: stub
        for other in episodes
        if other.target.fields["cell_line"] == line and other.id != episode.id
        for stub in other.pool
        if stub.experiment.id not in own and stub.experiment.hypothesis.text != episode.target.text
    }
    return tuple(found.values())[:count]


def test_prefix_cache_serves_a_scoring_round(
    classifier: ClassifierBelief,
    chat: Chat,
    test_split: EpisodeFile,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """16 candidates with 24 pieces of evidence: the evidence is read once."""
    episodes = test_split.episodes
    episode, evidence = next(
        (each, known) for each in episodes if len(known := same_line(episodes, each, 24)) == 24
    )
    candidates = tuple(stub.experiment for stub in episode.pool)
    assert len(candidates) == 16
    belief = Metered(classifier, episode.target.text)
    simulator = GenerativeSimulator(chat, SIMULATE)
    (scores,) = FactoredEIG(belief, simulator).score_batch(
        [DesignProblem(episode.target, evidence, candidates, seed=1, id=episode.id)]
    )
    assert np.isfinite(scores.eig).all(), scores.reasons
    with capsys.disabled():
        for name in belief.tokens:
            print(f"\nprefix hit rate of {name} calls: {belief.rate(name):.3f}", end="")
    assert belief.rate("posterior") >= 0.8
