from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from bed.errors import DataError
from bed.evaluation.baselines import (
    PoolLocalEffects,
    Scale,
    fit_base_rate,
    fit_numeric_boosting,
    fit_pool_local_effects,
)
from bed.evaluation.scores import auroc, log_score
from bed.evidence import Episode, Evidence, Fields, Hypothesis, Outcome, Stub
from bed.protocols import BeliefQuery, Beliefs
from tests.factories import (
    TARGET,
    additive_episode,
    chronos,
    dependency,
    flag,
    graded_episodes,
    knockout,
    plain,
)

TRAINING = [additive_episode(number, "train") for number in range(150)]
TEST = [additive_episode(number, "test") for number in range(150)]


def asked(episodes: Sequence[Episode], k: int) -> list[BeliefQuery]:
    return [BeliefQuery(episode.target, episode.pool[:k]) for episode in episodes]


def test_base_rate_is_that_of_training_by_domain() -> None:
    stub = flag(plain(0), True)
    others = [
        Episode(f"o{i}", TARGET, int(i < 3), (stub,), (1,), ("",), split)
        for i, split in enumerate(["train"] * 4 + ["test"] * 4)
    ]
    found = fit_base_rate([*TRAINING, *others])
    assert found.rates["generic"] == 0.75
    assert found.rates["depmap"] == np.mean([episode.label for episode in TRAINING])


def test_a_domain_without_training_has_no_base_rate() -> None:
    found = fit_base_rate(TRAINING).probabilities([BeliefQuery(TARGET)])
    assert np.isnan(found.probabilities[0])
    assert found.reasons == ("the baseline was not fitted to domain 'generic'",)


@pytest.mark.parametrize("fit", [fit_base_rate, fit_numeric_boosting, fit_pool_local_effects])
def test_baselines_need_training_episodes(fit) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataError, match="no training episodes"):
        fit(TEST)


def test_boosting_learns_from_numbers() -> None:
    boosting = fit_numeric_boosting([*TRAINING, *TEST])
    label = [episode.label for episode in TEST]
    none, all_stubs = (boosting.probabilities(asked(TEST, k)).probabilities for k in (0, 12))
    assert np.unique(none).size == 1
    assert auroc(all_stubs, label) > 0.7
    assert log_score(all_stubs, label) > log_score(none, label)


def test_boosting_does_not_see_other_splits_or_the_order_of_stubs() -> None:
    alone, among = fit_numeric_boosting(TRAINING), fit_numeric_boosting([*TEST, *TRAINING[::-1]])
    turned = [BeliefQuery(episode.target, episode.pool[::-1]) for episode in TEST]
    expected = alone.probabilities(asked(TEST, 12)).probabilities
    np.testing.assert_array_equal(among.probabilities(asked(TEST, 12)).probabilities, expected)
    np.testing.assert_array_equal(alone.probabilities(turned).probabilities, expected)


def test_boosting_reads_numbers_that_are_printed_and_passes_over_words() -> None:
    def printed(episode: Episode) -> Episode:
        pool = tuple(
            Stub(stub.experiment, Outcome(Fields(stub.outcome.fields, size="7E-6", note="fine")))
            for stub in episode.pool
        )
        return replace(episode, pool=pool)

    part = fit_numeric_boosting([printed(episode) for episode in TRAINING]).parts["depmap"]
    assert part.fields == ("chronos", "size", "support")
    assert part.tiers == (1, 2, 6)


def test_an_outcome_that_cannot_be_read_fails_its_query_alone() -> None:
    good, bad = asked(TEST[:2], 3)
    broken = Stub(bad.evidence[0].experiment, Outcome(Fields(chronos=None)))
    found = fit_numeric_boosting(TRAINING).probabilities(
        [good, BeliefQuery(bad.hypothesis, (broken,))]
    )
    assert found.reasons[0] is None
    assert "'chronos' is None" in str(found.reasons[1])


def test_boosting_needs_both_labels() -> None:
    with pytest.raises(DataError, match=r"depmap: .* of one class only"):
        fit_numeric_boosting([episode for episode in TRAINING if episode.label])


COLUMN = chronos(knockout("H", "HOME"), -1.2)
ROW = chronos(knockout("G", "AWAY"), -0.9)
BOTH = (COLUMN, ROW, chronos(knockout("H", "AWAY"), -0.7), chronos(knockout("I", "HOME"), 0.1))
EFFECTS = PoolLocalEffects({"depmap": Scale(0.0, 0.4)})


def local(evidence: Evidence, target: Hypothesis | None = None) -> Beliefs:
    return EFFECTS.probabilities([BeliefQuery(target or dependency("G", "HOME"), evidence)])


def test_effects_are_those_of_a_regression_with_normal_priors() -> None:
    score = np.array([(-0.5 - stub.outcome.fields["chronos"]) / 0.5 for stub in BOTH])
    # m with a prior that says next to nothing; rows G, H, I; columns HOME, AWAY
    design = np.array(
        [[1, 0, 1, 0, 1, 0], [1, 1, 0, 0, 0, 1], [1, 0, 1, 0, 0, 1], [1, 0, 0, 1, 1, 0]], float
    )
    spread = 0.4
    precision = np.diag([1e-9, *[1 / spread**2] * 5])
    covariance = np.linalg.inv(design.T @ design / spread**2 + precision)
    aim = np.array([1, 1, 0, 0, 1, 0], float)
    mean = aim @ covariance @ design.T @ score / spread**2
    deviation = np.sqrt(aim @ covariance @ aim + spread**2)
    assert local(BOTH).probabilities[0] == pytest.approx(ndtr(mean / deviation), rel=1e-6)


@pytest.mark.parametrize(
    ("evidence", "target", "reason"),
    [
        pytest.param((), None, "shares the target's gene", id="no evidence"),
        pytest.param((COLUMN,), None, "shares the target's gene", id="column alone"),
        pytest.param((ROW,), None, "shares the target's cell_line", id="row alone"),
        pytest.param(BOTH, TARGET, "not fitted to domain 'generic'", id="another domain"),
        pytest.param(BOTH, Hypothesis("G is one", "depmap"), "lacks the fields", id="no fields"),
    ],
)
def test_effects_forecast_only_where_row_and_column_are_known(
    evidence: Evidence, target: Hypothesis | None, reason: str
) -> None:
    found = local(evidence, target)
    assert np.isnan(found.probabilities[0])
    assert reason in str(found.reasons[0])


def test_measurements_of_other_claims_do_not_count() -> None:
    x = COLUMN.experiment
    claim = replace(x.hypothesis, fields=Fields(x.hypothesis.fields, claim="amplification"))
    copies = replace(x, hypothesis=claim, fields=Fields(x.fields, kind="copy_number"))
    stub = Stub(copies, Outcome(Fields(relative_copy_number=3.0)))
    assert "cell_line" in str(local((stub, ROW)).reasons[0])


def test_spread_and_threshold_come_from_training_pools() -> None:
    scale = fit_pool_local_effects(graded_episodes()).scales["depmap"]
    # effects of a gene scatter by .25 in chronos, which is .5 in units of the threshold
    assert scale.spread == pytest.approx(0.5, rel=0.25)
    assert scale.threshold == pytest.approx(0.0, abs=0.05)


def test_the_threshold_of_binned_effects_lies_between_the_bins() -> None:
    def binned(episode: Episode) -> Episode:
        pool = tuple(
            Stub(
                stub.experiment,
                Outcome(Fields(effect_bin="dependency" if i % 3 else "weak_dependency")),
            )
            for i, stub in enumerate(episode.pool)
        )
        return replace(episode, pool=pool)

    found = fit_pool_local_effects([binned(episode) for episode in TRAINING])
    assert found.scales["depmap"].threshold == -0.5


def test_a_domain_of_unsupported_measurements_has_no_threshold() -> None:
    def weak(episode: Episode) -> Episode:
        return replace(episode, pool=tuple(chronos(stub.experiment, 0.0) for stub in episode.pool))

    assert not fit_pool_local_effects([weak(episode) for episode in TRAINING]).scales
