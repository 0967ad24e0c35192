import numpy as np
import pytest
from numpy.typing import NDArray

from bed.errors import DataError
from bed.evaluation.resampling import unit_weights
from bed.evaluation.revision import Updates, updates_from_forecasts
from bed.evaluation.support import (
    bootstrap_beta,
    mh_odds_ratio_db,
    odds_ratio_of_support,
    quantile_bins,
    slope_through_origin,
)
from bed.information import probability
from bed.seeds import generator

Array = NDArray[np.float64]
Labels = NDArray[np.intp]


def sweeps(name: str, num_episodes: int, reaction: float = 1.0) -> tuple[Array, Labels]:
    """Paths of a Bayesian who sees normal evidence, with its updates multiplied by `reaction`."""
    rng = generator("sweeps", name)
    theta = rng.integers(0, 2, num_episodes)
    spread = 0.8
    # ln of the ratio of two normals with means +-d/2: mean +-d^2 / 2, variance d^2
    steps = rng.normal(size=(num_episodes, 8)) * spread
    steps += (2 * theta - 1)[:, None] * spread**2 / 2
    odds = reaction * np.cumsum(np.pad(steps, ((0, 0), (1, 0))), axis=1)
    return probability(odds), theta


@pytest.mark.parametrize("reaction", [0.5, 1.0, 2.0])
def test_beta_of_a_bayesian_is_1_and_of_one_who_overreacts_less(reaction: float) -> None:
    updates = {name: updates_from_forecasts(*sweeps(name, 3000, reaction)) for name in "abc"}
    # 256 episodes of a domain give a standard deviation of about .1, 9000 in all .02
    assert odds_ratio_of_support(updates).beta == pytest.approx(1 / reaction, rel=0.1)


def test_the_reference_tier_stands_at_the_origin() -> None:
    found = odds_ratio_of_support({"a": updates_from_forecasts(*sweeps("a", 200))})
    assert found.x[found.reference_tier] == 0
    assert found.psi[found.reference_tier] == 0
    assert found.per_domain["a"].num_tiers == 5
    assert np.all(np.diff(found.x) > 0)


def test_a_draw_of_every_episode_once_gives_the_point_estimate() -> None:
    domains = {name: sweeps(name, 60) for name in "ab"}
    found = bootstrap_beta(domains, {name: np.ones((3, 60)) for name in domains})
    np.testing.assert_allclose(found.draws, found.point)
    assert (found.lo, found.hi) == pytest.approx((found.point, found.point))
    assert found.num_dropped == 0


def test_a_draw_is_beta_of_the_repeated_episodes_in_the_tiers_of_all() -> None:
    paths, theta = sweeps("one", 40)
    updates = updates_from_forecasts(paths, theta)
    times = generator("times").integers(0, 3, 40)
    found = bootstrap_beta({"one": (paths, theta)}, {"one": times[None, :].astype(float)})
    tier, stratum = (quantile_bins(x, 5) for x in (updates.weight_db, updates.log_odds))
    often = times[updates.episode]

    def counts(rank: int, label: int) -> list[float]:
        here = (tier.index == rank) & (updates.theta == label)
        return [float(often[here & (stratum.index == s)].sum()) for s in range(5)]

    def mean(rank: int) -> float:
        here = tier.index == rank
        return float(np.average(updates.weight_db[here], weights=often[here]))

    base = found.support.reference_tier
    others = [rank for rank in range(5) if rank != base]
    psi = [
        mh_odds_ratio_db(counts(rank, 1), counts(rank, 0), counts(base, 1), counts(base, 0))
        for rank in others
    ]
    x = [mean(rank) - mean(base) for rank in others]
    assert found.draws[0] == pytest.approx(slope_through_origin(x, psi))


def test_units_come_together() -> None:
    paths, theta = sweeps("unit", 50)
    twice = (np.repeat(paths, 2, axis=0), np.repeat(theta, 2))
    alone = bootstrap_beta({"u": (paths, theta)}, {"u": unit_weights(range(50), 30, 0)})
    genes = [number // 2 for number in range(100)]
    paired = bootstrap_beta({"u": twice}, {"u": unit_weights(genes, 30, 0)})
    np.testing.assert_allclose(paired.draws, alone.draws, rtol=0.2)
    assert paired.point == pytest.approx(alone.point, rel=0.1)


def test_draws_without_a_slope_are_dropped_and_counted() -> None:
    paths = [[0.5, 0.6], [0.5, 0.4], [0.5, 0.7], [0.5, 0.3]]
    weights = np.array([[1.0, 1.0, 1.0, 1.0], [4.0, 0.0, 0.0, 0.0]])
    found = bootstrap_beta({"a": (paths, [1, 0, 1, 0])}, {"a": weights})
    assert found.num_dropped == 1
    assert found.draws.shape == (1,)


def test_a_tier_between_two_quantiles_may_be_empty() -> None:
    updates = Updates.of([0.0, 0.1, 0.2], [-4.0, 1.0, 9.0], [0, 1, 1])
    found = odds_ratio_of_support({"a": updates})
    assert np.isnan(found.x).any()
    assert np.isfinite(found.beta)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        pytest.param({"b": np.ones((2, 10))}, "mismatch", id="another domain"),
        pytest.param({"a": np.ones((2, 9))}, r"\(draws, 10\) is due", id="another size"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights: dict[str, Array], message: str) -> None:
    with pytest.raises(DataError, match=message):
        bootstrap_beta({"a": sweeps("a", 10)}, weights)


def test_domains_with_different_numbers_of_draws_are_refused() -> None:
    domains = {name: sweeps(name, 10) for name in "ab"}
    with pytest.raises(DataError, match="numbers of draws differ"):
        bootstrap_beta(domains, {"a": np.ones((2, 10)), "b": np.ones((3, 10))})


def test_a_belief_that_never_moves_has_no_beta() -> None:
    with pytest.raises(DataError, match="domain 'a': no updates, all 2 are zero"):
        odds_ratio_of_support({"a": updates_from_forecasts([[0.5, 0.5, 0.5]], [1])})


def test_no_bins_are_refused() -> None:
    with pytest.raises(DataError, match="num_bins is 0"):
        quantile_bins([1.0, 2.0], 0)
