"""Names of the golden cases -> functions of bed; argument conversion only, no arithmetic."""

from typing import Any

from bed import evaluation, information
from bed.belief.exact import ExactBelief
from bed.domains.verdicts import stub_verdict, target_outcome
from bed.episodes.testset import (
    allocate_context_lengths,
    build_testset,
    context_length_counts,
    order_by_sha256,
)
from bed.estimators import FactoredEIG, factored_eig
from bed.evaluation.consistency import composition_residual, position_bias
from bed.evaluation.relevance import relative_weight_by_tier, relevance_spearman
from bed.evaluation.resampling import Bootstrap, Interval
from bed.evaluation.revision import Updates, updates_from_forecasts
from bed.evaluation.support import (
    bootstrap_beta,
    mh_odds_ratio_db,
    odds_ratio_of_support,
    quantile_bins,
    slope_through_origin,
)
from bed.evidence import Fields, Outcome, Stub
from bed.information import best_index
from bed.prompts import mean_of_draws, parse_choice, parse_probability
from bed.seeds import derive_seed
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


def _weights(domains: dict[str, Any], indices: dict[str, Any]) -> dict[str, Any]:
    return {
        name: evaluation.index_weights(rows, len(domains[name]["y"]))
        for name, rows in indices.items()
    }


def _interval(found: Interval) -> dict[str, Any]:
    return {"point": found.point, "draws": found.draws, "ci": [found.lo, found.hi]}


def _bootstrap(found: Bootstrap) -> dict[str, Any]:
    return _interval(found) | {
        "n_dropped": found.num_dropped,
        "domain_ci": {name: [part.lo, part.hi] for name, part in found.domains.items()},
    }


def _bootstrap_macro(stat: str, domains: dict[str, Any], indices: dict[str, Any]) -> dict[str, Any]:
    pairs = {name: (domain["p"], domain["y"]) for name, domain in domains.items()}
    found = evaluation.bootstrap_macro(
        evaluation.STATISTICS[stat], pairs, _weights(domains, indices)
    )
    return _bootstrap(found)


def _bootstrap_seeded(
    stat: str, domains: dict[str, Any], n_draws: int, seed: int
) -> dict[str, Any]:
    pairs = {name: (domain["p"], domain["y"]) for name, domain in domains.items()}
    weights = {
        name: evaluation.unit_weights(range(len(p)), n_draws, derive_seed(seed, name))
        for name, (p, _) in pairs.items()
    }
    return _bootstrap(evaluation.bootstrap_macro(evaluation.STATISTICS[stat], pairs, weights))


def _paired_difference(
    stat: str, domains: dict[str, Any], indices: dict[str, Any]
) -> dict[str, Any]:
    triples = {name: (d["y"], d["p_a"], d["p_b"]) for name, d in domains.items()}
    found = evaluation.paired_difference(
        evaluation.STATISTICS[stat], triples, _weights(domains, indices)
    )
    return _bootstrap(found)


def _paired_retention(
    stat: str, y: list[int], indices: list[list[int]], **models: Any
) -> dict[str, Any]:
    weights = evaluation.index_weights(indices, len(y))
    return _interval(
        evaluation.paired_retention(evaluation.STATISTICS[stat], y, weights=weights, **models)
    )


def _named(found: Any, *same: str, **other: str) -> dict[str, Any]:
    return {
        name: getattr(found, field) for name, field in {**{n: n for n in same}, **other}.items()
    }


def _updates(forecasts: list[list[float]], theta: list[int]) -> dict[str, Any]:
    found = updates_from_forecasts(forecasts, theta)
    return _named(found, "theta", "episode", "step", l="log_odds", w="weight_db", n_zero="num_zero")


def _odds_ratio_of_support(domains: dict[str, Any]) -> dict[str, Any]:
    found = odds_ratio_of_support(
        {
            name: Updates.of(given["l"], given["w"], given["theta"])
            for name, given in domains.items()
        }
    )
    sizes = {"n_tiers": "num_tiers", "n_strata": "num_strata", "n_zero": "num_zero"}
    return _named(found, "reference_tier", "x", "psi", "beta") | {
        "per_domain": {
            name: _named(part, "x", "psi", **sizes) for name, part in found.per_domain.items()
        }
    }


def _bootstrap_beta(domains: dict[str, Any], indices: dict[str, Any]) -> dict[str, Any]:
    paths = {name: (given["forecasts"], given["theta"]) for name, given in domains.items()}
    weights = {
        name: evaluation.index_weights(rows, len(domains[name]["theta"]))
        for name, rows in indices.items()
    }
    found = bootstrap_beta(paths, weights)
    return _interval(found) | {"reference_tier": found.support.reference_tier}


ADAPTER = {
    "updates_from_forecasts": _updates,
    "quantile_bins": lambda x, n_bins: _named(
        quantile_bins(x, n_bins), edges="edges", bin="index", n_bins="num_bins"
    ),
    "mh_odds_ratio_db": mh_odds_ratio_db,
    "odds_ratio_of_support": _odds_ratio_of_support,
    "slope_through_origin": slope_through_origin,
    "bootstrap_beta": _bootstrap_beta,
    "relevance_spearman": relevance_spearman,
    "relative_weight_by_tier": lambda w, tier, episode: (
        relative_weight_by_tier(w, tier, episode).means
    ),
    "position1_bias": lambda forecasts: _named(
        position_bias(forecasts), "mean_db", "per_episode", "centred_mean_by_position"
    ),
    "composition_residual": lambda domains: _named(
        composition_residual(domains),
        "signed_per_episode",
        "signed_mean_by_domain",
        "abs_of_macro_mean",
        "macro_of_abs_domain_mean",
        "macro_mean_of_abs",
    ),
    "brier": evaluation.brier,
    "auroc": evaluation.auroc,
    "bin_index": evaluation.bin_index,
    "ece": evaluation.ece,
    "smece": evaluation.smece,
    "smece_bandwidth": evaluation.smece_bandwidth,
    "murphy": evaluation.murphy,
    "platt_fit": evaluation.platt_fit,
    "platt_apply": evaluation.platt_apply,
    "crossfit_platt": evaluation.crossfit_platt,
    "retention": evaluation.retention,
    "macro_average": evaluation.macro_average,
    "percentile_ci": evaluation.percentile_ci,
    "bootstrap_macro": _bootstrap_macro,
    "bootstrap_seeded": _bootstrap_seeded,
    "paired_bootstrap_diff": _paired_difference,
    "paired_bootstrap_retention": _paired_retention,
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
