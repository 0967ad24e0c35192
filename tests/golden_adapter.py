"""Names of the golden cases -> functions of bed; argument conversion only, no arithmetic."""

from typing import Any

from bed import information
from bed.belief.exact import ExactBelief
from bed.domains.verdicts import stub_verdict, target_outcome
from bed.episodes.testset import (
    allocate_context_lengths,
    build_testset,
    context_length_counts,
    order_by_sha256,
)
from bed.estimators import FactoredEIG, factored_eig
from bed.evidence import Fields, Outcome, Stub
from bed.information import best_index
from bed.prompts import mean_of_draws, parse_choice, parse_probability
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


def _testset(ids: list[str], n_sensitivity: int) -> dict[str, Any]:
    found = build_testset(ids, n_sensitivity)
    return {
        "primary": [list(row) for row in found.primary],
        "sensitivity_ids": list(found.sensitivity_ids),
        "n_primary_rows": found.num_primary_rows,
        "n_sensitivity_rows": found.num_sensitivity_rows,
    }


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
    "stub_verdict": stub_verdict,
    "target_outcome": target_outcome,
    "parse_probability": parse_probability,
    "parse_choice": lambda text, n_candidates: parse_choice(text, n_candidates),
    "mean_of_draws": mean_of_draws,
    "order_by_sha256": order_by_sha256,
    "context_length_counts": lambda n: {str(k): num for k, num in context_length_counts(n).items()},
    "allocate_context_lengths": allocate_context_lengths,
    "build_testset": _testset,
}
