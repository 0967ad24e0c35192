"""Seeds derived by name."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bed.seeds import derive_seed, generator, uniform


def test_a_seed_is_the_same_in_every_process_and_version() -> None:
    # a change here changes every trajectory that was ever stored
    assert derive_seed(0, "outcome", 3, "x1") == 6529459406841650427
    assert uniform(12345) == 0.45447227821637515


@pytest.mark.parametrize(
    "other",
    [(1, "a", 2), (0, "b", 2), (0, "a", 3), ("a", 0, 2), (0, "a"), (0, "a", "2"), (0, "a2")],
    ids=repr,
)
def test_every_part_its_place_and_its_type_matter(other: tuple[int | str, ...]) -> None:
    assert derive_seed(*other) != derive_seed(0, "a", 2)


def test_numpy_integers_count_as_integers() -> None:
    parts = (np.int64(5), "a", np.uint8(2))
    assert derive_seed(*parts) == derive_seed(5, "a", 2)  # type: ignore[arg-type]


def test_seeds_fit_in_63_bits_and_do_not_collide() -> None:
    seeds = {derive_seed(0, "draw", number) for number in range(5000)}
    assert len(seeds) == 5000
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_generator_repeats_by_name() -> None:
    assert generator(1, "a").random(3).tolist() == generator(1, "a").random(3).tolist()
    assert generator(1, "a").random() != generator(1, "b").random()


@settings(max_examples=50)
@given(st.integers(0, 2**63 - 1))
def test_a_uniform_number_is_inside_the_unit_interval_and_repeats(seed: int) -> None:
    assert 0.0 < uniform(seed) < 1.0
    assert uniform(seed) == uniform(seed)


@pytest.mark.parametrize("derived", [False, True], ids=["consecutive seeds", "derived seeds"])
def test_uniform_numbers_are_uniform(derived: bool) -> None:
    size = 4000
    seeds = [derive_seed(0, "u", i) if derived else i for i in range(size)]
    drawn = np.sort([uniform(seed) for seed in seeds])
    distance = np.abs(drawn - (np.arange(size) + 0.5) / size).max()
    # Kolmogorov's 0.999 quantile is 1.95
    assert distance * math.sqrt(size) < 1.95
    assert abs(
        np.corrcoef([uniform(s) for s in seeds[:-1]], [uniform(s) for s in seeds[1:]])[0, 1]
    ) < (4 / math.sqrt(size))
