"""Names of the golden cases -> functions of bed; argument conversion only, no arithmetic."""

from typing import Any

from bed import information
from bed.belief.exact import ExactBelief
from bed.estimators import FactoredEIG, factored_eig
from bed.evidence import Fields, Outcome, Stub
from bed.information import best_index
from bed.simulators.exact import ExactSimulator
from bed.worlds import World


def _world(world: dict[str, Any]) -> World:
    if world["kind"] == "joint":
        return World.from_joint(world["rows"], world["n_outcomes"])
    return World.factored(
        world["p_theta"],
        [candidate["p_local"] for candidate in world["candidates"]],
        [candidate["p_y"] for candidate in world["candidates"]],
    )


def _sampled(
    world: dict[str, Any], observed: list[list[int]], candidate: int, n_samples: int, seed: int
) -> float:
    exact = _world(world)
    worlds = {exact.name: exact}
    evidence = tuple(Stub(exact.experiment(k), Outcome(Fields(y=y))) for k, y in observed)
    estimator = FactoredEIG.paper(
        ExactBelief(worlds), ExactSimulator(worlds, knows_evidence=False), n_samples
    )
    scores = estimator.score(exact.target(), evidence, [exact.experiment(candidate)], seed)
    return float(scores["eig"][0])


ADAPTER = {
    "entropy_bits": information.entropy_bits,
    "information_gain_bits": information.information_gain_bits,
    "woe_db": information.weight_of_evidence_db,
    "woe_series": information.weight_of_evidence_series_db,
    "cumulative_woe": information.cumulative_weight_of_evidence_db,
    "true_label_probability": information.true_label_probability,
    "factored_eig": factored_eig,
    "exact_posterior": lambda world, observed: _world(world).posterior(observed),
    "branch_weights": lambda world, observed: _world(world).branch_weights(observed),
    "exact_eig": lambda world, observed: _world(world).exact_eig(observed),
    "exact_factored_eig": lambda world, observed: _world(world).exact_factored_eig(observed),
    "best_candidate": lambda world, observed, method: best_index(
        _world(world).eig(observed, method)
    )[0],
    "greedy_sequence": lambda world, outcomes, n_steps, method: _world(world).greedy_sequence(
        outcomes, n_steps, method
    ),
    "mc_factored_eig": _sampled,
}
