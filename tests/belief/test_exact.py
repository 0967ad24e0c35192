"""The perfect reasoner of exact worlds."""

import pytest

from bed.belief import ExactBelief
from bed.evidence import Fields, Hypothesis
from bed.protocols import BeliefQuery
from bed.worlds import World
from tests.factories import TARGET, shown

WORLD = World.factored(0.3, [[0.2, 0.7]] * 2, [[[0.6, 0.4], [0.2, 0.8]]] * 2, name="w")
TWIN = World.factored(0.6, [[0.2, 0.7]] * 2, [[[0.6, 0.4], [0.2, 0.8]]] * 2, name="twin")
BELIEF = ExactBelief({"w": WORLD, "twin": TWIN})


@pytest.mark.parametrize("observed", [[], [(0, 1)], [(0, 1), (1, 0)]], ids=str)
def test_answers_are_the_worlds(observed: list[tuple[int, int]]) -> None:
    evidence = tuple(shown(WORLD, k, y) for k, y in observed)
    queries = [
        BeliefQuery(WORLD.target(), evidence),
        BeliefQuery(WORLD.experiment(1).hypothesis, evidence),
        BeliefQuery(TWIN.target(), tuple(shown(TWIN, k, y) for k, y in observed)),
    ]
    assert BELIEF.probabilities(queries).probabilities.tolist() == [
        WORLD.posterior(observed),
        WORLD.branch_weight(1, observed),
        TWIN.posterior(observed),
    ]


@pytest.mark.parametrize(
    ("hypothesis", "reason"),
    [
        (TARGET, "no world 'None' here, asked by 'the claim'"),
        (Hypothesis("h", "world", Fields(world="v")), "no world 'v' here, asked by 'h'"),
        (Hypothesis("h", "world", Fields(world="w", candidate=2)), "candidate 2 is outside"),
    ],
    ids=["free text", "unknown world", "unknown candidate"],
)
def test_unanswerable_queries_get_a_reason(hypothesis: Hypothesis, reason: str) -> None:
    answers = BELIEF.probabilities([BeliefQuery(WORLD.target()), BeliefQuery(hypothesis)])
    assert answers.probabilities[0] == pytest.approx(0.3)
    assert reason in str(answers.reasons[1])


def test_evidence_of_another_world_fails_its_query_alone() -> None:
    queries = [BeliefQuery(TWIN.target(), (shown(w, 0, 1),)) for w in (WORLD, TWIN)]
    answers = BELIEF.probabilities(queries)
    assert "of world 'w', not 'twin'" in str(answers.reasons[0])
    assert answers.probabilities[1] == TWIN.posterior([(0, 1)])
