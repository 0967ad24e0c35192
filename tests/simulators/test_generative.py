"""Results that a chat model writes: read back, asked for again, or kept as they are."""

from typing import Any

import pytest

from bed.evidence import Fields, Hypothesis, Outcome, Stub
from bed.protocols import OutcomeRequest
from bed.simulators import GenerativeSimulator
from bed.transport import Reply
from tests.doubles import chat, user
from tests.factories import chronos, knockout, plain

X = knockout("G", "N1")
EVIDENCE = (chronos(knockout("G", "N2"), -1.2),)


def test_each_branch_is_asked_for_and_read_back() -> None:
    def write(body: dict[str, Any]) -> str:
        supports = "that supports the target" in user(body)
        return f"Result:\n  Chronos gene-effect {-1.1 if supports else 0.05}"

    requests = [OutcomeRequest(X, branch, EVIDENCE, 4) for branch in (True, False)]
    found = GenerativeSimulator(chat(write)).sample(requests)
    assert [of.fields["chronos"] for of in found.values if of] == [-1.1, 0.05]


def test_the_evidence_is_shown_and_no_result_of_its_own() -> None:
    seen: list[str] = []

    def write(body: dict[str, Any]) -> str:
        seen.append(user(body))
        return "Chronos gene-effect -0.9"

    GenerativeSimulator(chat(write)).sample([OutcomeRequest(X, True, EVIDENCE)])
    assert "Chronos gene-effect -1.20" in seen[0]
    assert "result hidden" in seen[0]


def test_an_example_tells_the_form_until_the_evidence_does() -> None:
    """Bins here, but the evidence reports gene effects."""
    binned = Stub(knockout("G3", "N3"), Outcome(Fields(effect_bin="dependency")))
    asked: list[str] = []

    def write(body: dict[str, Any]) -> str:
        asked.append(user(body))
        return "Effect bin dependency" if "Effect bin" in user(body) else "Chronos gene-effect -0.9"

    of = chat(write, structured=True)
    simulator = GenerativeSimulator(of, examples=(binned,))
    found = simulator.sample([OutcomeRequest(X, True, known) for known in ((), EVIDENCE)])
    assert [value.fields for value in found.values if value] == [
        {"effect_bin": "dependency"},
        {"chronos": -0.9},
    ]
    assert all("N3" not in prompt for prompt in asked)
    patterns = [call.body["structured_outputs"]["regex"] for call in of.transport.calls]  # type: ignore[attr-defined]
    assert sorted("Effect bin" in pattern for pattern in patterns) == [False, True]


def test_an_unreadable_result_is_asked_for_once_more() -> None:
    seeds: list[int] = []

    def write(body: dict[str, Any]) -> str:
        seeds.append(body["seed"])
        return "I would say a strong effect" if len(seeds) == 1 else "Chronos gene-effect -0.7"

    of = chat(write)
    (value,) = GenerativeSimulator(of).sample([OutcomeRequest(X, True, EVIDENCE, 4)]).values
    assert value is not None
    assert value.fields == {"chronos": -0.7}
    assert seeds[0] != seeds[1]
    assert of.transport.tally.snapshot()["unreadable"] == 1


def test_one_that_stays_unreadable_fails_alone_with_its_text() -> None:
    def write(body: dict[str, Any]) -> str:
        return "P(dependency) 7" if "N1" in user(body) else "Chronos gene-effect -0.7"

    requests = [OutcomeRequest(knockout("G", line), True, (), 1) for line in ("N1", "N3")]
    found = GenerativeSimulator(chat(write)).sample(requests)
    assert found.values[0] is None
    assert "7.0 is impossible" in str(found.reasons[0])
    assert "it wrote 'P(dependency) 7'" in str(found.reasons[0])
    assert found.reasons[1] is None


@pytest.mark.parametrize("branch", [True, False], ids=["supportive", "nonsupportive"])
def test_a_result_of_the_other_branch_is_asked_for_once_more(branch: bool) -> None:
    results = {True: "Chronos gene-effect -0.7", False: "Chronos gene-effect 0.1"}
    written: list[str] = []

    def write(body: dict[str, Any]) -> str:
        written.append(results[branch if len(written) == 1 else not branch])
        return written[-1]

    of = chat(write)
    requests = [OutcomeRequest(X, branch, EVIDENCE, 4)]
    assert GenerativeSimulator(of).sample(requests).reasons == (None,)
    assert len(written) == 2
    assert of.transport.tally.snapshot()["contradictory"] == 1
    (reason,) = GenerativeSimulator(of).sample(requests).reasons
    assert "contradicts the request" in str(reason)
    assert "it wrote 'Chronos" in str(reason)


def test_a_server_that_fails_is_a_reason() -> None:
    of = chat(lambda body: Reply(reason="gone", status=500))
    assert GenerativeSimulator(of).sample([OutcomeRequest(X, True)]).reasons == ("gone",)


def test_a_level_cannot_be_honoured() -> None:
    of = chat(lambda body: "Chronos gene-effect -0.9")
    found = GenerativeSimulator(of).sample([OutcomeRequest(X, True, level=0.5)])
    assert "ranks no outcomes" in str(found.reasons[0])


def test_output_is_held_to_the_form_of_the_result() -> None:
    of = chat(lambda body: "Chronos gene-effect -0.9", structured=True)
    GenerativeSimulator(of).sample([OutcomeRequest(X, True, EVIDENCE)])
    pattern = of.transport.calls[0].body["structured_outputs"]["regex"]  # type: ignore[attr-defined]
    assert pattern.startswith(r"Result:\n  Chronos gene-effect ")


@pytest.mark.parametrize("domain", ["astrology", "depmap"])
def test_an_experiment_that_has_no_prompt_fails_alone(domain: str) -> None:
    bad = plain(0)
    bad = type(bad)("x", Hypothesis("h", domain))
    found = GenerativeSimulator(chat(lambda body: "Chronos gene-effect -0.9")).sample(
        [OutcomeRequest(bad, True), OutcomeRequest(X, True)]
    )
    assert found.reasons[0]
    assert found.reasons[1] is None
