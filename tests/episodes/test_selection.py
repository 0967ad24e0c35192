from collections import Counter

import numpy as np
import pytest

from bed.episodes.selection import Candidate, Quotas, select, sufficiency

QUOTAS = Quotas(group_share=0.15, refuted_share=0.15)
P_LABEL = (0.1, 0.35, 0.8)
"""P(label = 1) of poor, moderate and rich candidates."""


def candidates(
    num: int = 20000, num_lines: int = 60, share_refuted: float = 0.05
) -> list[Candidate[int]]:
    rng = np.random.default_rng(0)
    found = []
    for i in range(num):
        level = int(rng.choice(3, p=(0.5, 0.3, 0.2)))
        label = bool(rng.random() < P_LABEL[level])
        line = int(rng.integers(num_lines))
        found.append(
            Candidate(
                unit=f"gene {i}",
                group=f"lineage {line % 12}",
                context=f"line {line}",
                label=label,
                refuted=not label and bool(rng.random() < share_refuted),
                num_conclusive=(0, 2, 6)[level],
                content=i,
            )
        )
    return found


@pytest.fixture(scope="module")
def chosen() -> list[Candidate[int]]:
    return select(candidates(), 3000, 0, "train", QUOTAS)


def test_number_wanted(chosen: list[Candidate[int]]) -> None:
    assert len(chosen) == 3000


def test_half_supported_in_every_context(chosen: list[Candidate[int]]) -> None:
    counts = Counter((found.context, found.label) for found in chosen)
    assert len(counts) == 120
    for context, _ in counts:
        assert counts[context, True] == counts[context, False]


def test_sufficiency_in_thirds(chosen: list[Candidate[int]]) -> None:
    shares = np.bincount([sufficiency(found.num_conclusive) for found in chosen]) / len(chosen)
    np.testing.assert_allclose(shares, 1 / 3, atol=0.01)


def test_negatives_refuted_in_15_percent(chosen: list[Candidate[int]]) -> None:
    negatives = [found for found in chosen if not found.label]
    assert np.mean([found.refuted for found in negatives]) == pytest.approx(0.15, abs=0.01)


def test_sufficiency_keeps_its_meaning_as_evidence() -> None:
    """The odds of the label between levels stay those of the candidates, in every pair of levels.

    With no weight on refuted negatives the selection only shifts the odds, the same for all levels.
    """
    found = select(candidates(share_refuted=0), 3000, 0, "train", QUOTAS)
    counts = np.zeros((3, 2))
    for item in found:
        counts[sufficiency(item.num_conclusive), int(item.label)] += 1
    log_odds = np.log(counts[:, 1] / counts[:, 0])
    natural = np.log(np.array(P_LABEL) / (1 - np.array(P_LABEL)))
    # Four standard errors of a difference of log odds.
    error = 4 * np.sqrt((1 / counts).sum(axis=1).max() * 2)
    assert abs((log_odds[2] - log_odds[1]) - (natural[2] - natural[1])) < error
    assert abs((log_odds[1] - log_odds[0]) - (natural[1] - natural[0])) < error


def test_no_lineage_dominates() -> None:
    heavy = candidates(num_lines=12)
    heavy += [item for item in heavy if item.group == "lineage 3"] * 5
    found = select(heavy, 100000, 0, "train", QUOTAS)
    assert max(Counter(item.group for item in found).values()) <= 0.15 * len(found) + 2


def test_balance_wins_where_the_data_are_short() -> None:
    short = [item for item in candidates(2000) if item.num_conclusive]
    found = select(short, 100000, 0, "train", QUOTAS)
    labels = [item.label for item in found]
    assert found
    assert 2 * sum(labels) == len(labels)


@pytest.mark.parametrize("label", [True, False])
def test_one_label_gives_nothing(label: bool) -> None:
    assert (
        select([item for item in candidates(500) if item.label is label], 100, 0, "test", QUOTAS)
        == []
    )


def test_nothing_from_nothing() -> None:
    assert select([], 10, 0, "test", QUOTAS) == []


@pytest.mark.parametrize(("num", "level"), [(0, 0), (1, 1), (3, 1), (4, 2), (9, 2)])
def test_sufficiency(num: int, level: int) -> None:
    assert sufficiency(num) == level
