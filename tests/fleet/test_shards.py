"""How a batch is shared out: everything once, in shards that pay, and what belongs together."""

from hypothesis import given
from hypothesis import strategies as st

from bed.fleet.shards import FEWEST, home_key, shared_out
from bed.protocols import BeliefQuery, OutcomeRequest
from tests.factories import graded_episodes

KEYS = st.lists(st.sampled_from([f"gene {n}" for n in range(40)]), max_size=1500)
WORKERS = st.integers(1, 16)


@given(KEYS, WORKERS)
def test_every_query_is_in_one_shard(keys: list[str], num_workers: int) -> None:
    shards = shared_out(keys, num_workers)
    assert len(shards) == num_workers
    assert sorted(place for of in shards for shard in of for place in shard) == [*range(len(keys))]


@given(KEYS, WORKERS)
def test_a_shard_pays_for_the_way(keys: list[str], num_workers: int) -> None:
    sizes = [len(shard) for of in shared_out(keys, num_workers) for shard in of]
    assert all(size >= min(FEWEST, len(keys)) for size in sizes)
    most = max(FEWEST, len(keys) // (4 * num_workers))
    assert all(size < 2 * most for size in sizes)


@given(KEYS, KEYS, WORKERS)
def test_a_prefix_stays_with_its_worker(some: list[str], more: list[str], num_workers: int) -> None:
    enough = ["at home"] * FEWEST
    homes = []
    for keys in ([*enough, *some], [*more, *enough, *some]):
        shards = shared_out(keys, num_workers)
        homes += [
            worker
            for worker, of in enumerate(shards)
            if any(keys[place] == "at home" for shard in of for place in shard)
        ]
    assert len(homes) == 2
    assert homes[0] == homes[1]


def test_many_prefixes_keep_every_worker_busy() -> None:
    keys = [f"gene {n % 400}" for n in range(16_000)]
    load = [sum(map(len, of)) for of in shared_out(keys, 8)]
    # 50 of 400 prefixes each, give or take four standard errors
    assert max(load) < 2000 * (1 + 4 / 50**0.5)


def test_the_first_piece_of_evidence_decides() -> None:
    episode = graded_episodes()[0]
    first, second, third = episode.pool[:3]
    query = BeliefQuery(episode.target, (first, second))
    alike: list[BeliefQuery | OutcomeRequest] = [
        BeliefQuery(episode.target, (first,), seed=9),
        BeliefQuery(third.experiment.hypothesis, (first, second)),
        OutcomeRequest(third.experiment, True, (first, second)),
    ]
    assert {home_key(other) for other in alike} == {home_key(query)}
    unlike = [BeliefQuery(episode.target, (second, first)), BeliefQuery(episode.target)]
    assert len({home_key(query), *map(home_key, unlike)}) == 3
