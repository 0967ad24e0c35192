"""The audit of free text: an even file passes, and each way of telling the label is found."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bed.episodes import EpisodeFile
from bed.episodes.audit import Check, audit
from bed.evidence import Episode, Experiment, Fields, Hypothesis, Outcome, Stub

SPLITS = ("train", "test")


def stub(text: str, supported: bool | None = None, cost: float = 1.0) -> Stub:
    said = {} if supported is None else {"supported": supported}
    return Stub(Experiment(text, Hypothesis(text), cost), Outcome(Fields(result="seen", **said)))


def episode(at: int) -> Episode:
    """Labels alternate; the lab and the split do so in other rhythms."""
    lab = "AB"[at // 2 % 2]
    return Episode(
        id=f"e{at}",
        target=Hypothesis(f"Claim {at:03d} holds.", fields=Fields(lab=lab)),
        label=at % 2,
        pool=tuple(stub(f"Assay {i} of {at:03d}.", bool((at + i) % 3)) for i in range(4)),
        tiers=(1,) * 4,
        tags=("evidence of tier 1",) * 4,
        split=SPLITS[at // 4 % 2],
        unit=f"u{at}",
    )


@pytest.fixture(scope="module")
def even() -> tuple[Episode, ...]:
    return tuple(map(episode, range(80)))


def checks(episodes: tuple[Episode, ...]) -> dict[str, Check]:
    return {check.name: check for check in audit(EpisodeFile(episodes))["generic"]}


def test_an_even_file_passes(even: tuple[Episode, ...]) -> None:
    states = {name: check.state for name, check in checks(even).items()}
    assert {name: state for name, state in states.items() if state not in ("ok", "info")} == {}
    assert "AUROC of the label from the lab's name" in states


def with_pool(found: Episode, pool: tuple[Stub, ...]) -> Episode:
    num = len(pool)
    return replace(found, pool=pool, tiers=(1,) * num, tags=("evidence of tier 1",) * num)


def renamed(found: Stub, name: str) -> Stub:
    return replace(found, experiment=replace(found.experiment, id=name))


def in_lab(found: Stub, lab: str) -> Stub:
    local = replace(found.experiment.hypothesis, fields=Fields(lab=lab))
    return replace(found, experiment=replace(found.experiment, hypothesis=local))


def each(change: Callable[[Episode], Episode]) -> Callable[[tuple[Episode, ...]], list[Episode]]:
    """Change all episodes of label 1."""
    return lambda found: [change(item) if item.label else item for item in found]


def first(change: Callable[[Episode], Episode]) -> Callable[[tuple[Episode, ...]], list[Episode]]:
    return lambda found: [change(found[0]), *found[1:]]


@pytest.mark.parametrize(
    ("tamper", "name", "state"),
    [
        (
            each(lambda e: with_pool(e, (*e.pool, stub("One more.")))),
            "AUROC of the label from the number of stubs",
            "violated",
        ),
        (
            each(lambda e: with_pool(e, (stub("Dear.", cost=9), *e.pool[1:]))),
            "AUROC of the label from the cost of the pool",
            "violated",
        ),
        (
            each(lambda e: replace(e, target=replace(e.target, text=e.target.text + " Truly."))),
            "AUROC of the label from the length of the claim",
            "violated",
        ),
        (
            each(lambda e: replace(e, target=replace(e.target, fields=Fields(lab="C")))),
            "AUROC of the label from the lab's name",
            "violated",
        ),
        (
            each(lambda e: replace(e, target=replace(e.target, fields=Fields(lab="C")))),
            "one label throughout a lab of 5 episodes or more",
            "off",
        ),
        (
            first(lambda e: with_pool(e, (stub("claim 000  holds"), *e.pool[1:]))),
            "the target's own result in its pool",
            "violated",
        ),
        (
            first(
                lambda e: with_pool(e, (in_lab(stub("Claim 000 holds."), "another"), *e.pool[1:]))
            ),
            "the target's own result in its pool",
            "ok",
        ),
        (
            first(
                lambda e: with_pool(
                    e, (Stub(Experiment("x", e.target), Outcome(Fields(result="."))), *e.pool[1:])
                )
            ),
            "the target's own result in its pool",
            "violated",
        ),
        (
            first(lambda e: with_pool(e, (renamed(e.pool[1], "twin"), *e.pool[1:]))),
            "an experiment twice in a pool",
            "violated",
        ),
        (
            lambda found: [*found, replace(found[0], id="again", label=1, split="test")],
            "hypotheses in two splits",
            "violated",
        ),
        (
            lambda found: [*found, replace(found[0], id="again", label=1)],
            "hypotheses with both labels",
            "violated",
        ),
        (
            lambda found: [*found, replace(found[0], id="again")],
            "hypotheses that stand twice",
            "off",
        ),
        (
            lambda found: [replace(found[0], unit="u4"), *found[1:]],
            "units in two splits",
            "violated",
        ),
        (
            lambda found: [
                with_pool(
                    found[0], (Stub(Experiment("x", found[4].target), Outcome(Fields(result="."))),)
                ),
                *found[1:],
            ],
            "held-out hypotheses among the evidence of training",
            "violated",
        ),
        (lambda found: [item for item in found if item.label], "label 1, overall", "off"),
    ],
    ids=[
        "pool-size",
        "cost",
        "length-of-claim",
        "name-of-context",
        "constant-cells",
        "own-words",
        "own-words-of-another-lab",
        "own-result",
        "experiment-twice",
        "two-splits",
        "both-labels",
        "hypothesis-twice",
        "unit-in-two-splits",
        "held-out-as-evidence",
        "one-label",
    ],
)
def test_what_tells_the_label_is_found(
    even: tuple[Episode, ...],
    tamper: Callable[[tuple[Episode, ...]], list[Episode]],
    name: str,
    state: str,
) -> None:
    assert checks(tuple(tamper(even)))[name].state == state


def test_results_in_words_are_for_language_models(even: tuple[Episode, ...]) -> None:
    found = checks((with_pool(even[0], (stub("In words."), *even[0].pool[1:])), *even[1:]))
    check = found["outcomes that only a language model can use, by a prompt"]
    assert (check.state, check.found.partition(" ")[0]) == ("info", "1")
    assert found["outcomes that neither bed nor a prompt can read"].state == "ok"


def test_held_out_outcomes_that_deny_the_label(even: tuple[Episode, ...]) -> None:
    told = tuple(Outcome(Fields(supported=not item.label)) for item in even)
    (found,) = audit(EpisodeFile(even, {}, told)).values()
    denied = next(item for item in found if item.name.startswith("labels that the held-out"))
    assert (denied.state, denied.found.partition(" ")[0]) == ("violated", "80")


def test_one_split_is_said_and_single_features_are_still_tried(even: tuple[Episode, ...]) -> None:
    longer = tuple(
        replace(item, split="test", target=Hypothesis("x" * (10 + 9 * item.label) + item.id))
        for item in even
    )
    found = checks(longer)
    assert "only the split test" in found["held-out hypotheses apart from training"].found
    assert found["AUROC of the label from the length of the claim"].state == "violated"
    few = checks(longer[:10])
    assert "too few episodes" in few["AUROC of the label from single features"].found
