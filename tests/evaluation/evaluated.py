"""Small evaluations for the tests of what is made of them."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from bed.evaluation import Forecasts, evaluate
from bed.evaluation.forecasts import split_models
from bed.seeds import generator

NASTY = "<b>&\"'$x_1$</b>"
"""A name that is markup, a quotation and a formula at once."""


def swept(
    models: Sequence[str], domains: Sequence[str] = ("depmap", "drug"), last: int = 4
) -> list[Forecasts]:
    """Forecasts of twelve episodes a domain; each model trusts the evidence more than the last."""
    rows = []
    for domain in domains:
        rng = generator("swept", domain)
        for episode in range(12):
            label = episode % 2
            gained = np.cumsum([0.0, *rng.normal(label - 0.5, 1.0, last)])
            for m, model in enumerate(models):
                p = 1 / (1 + np.exp(-(0.4 + 0.2 * m) * gained - 0.02 * m))
                rows += [
                    {"model": model, "domain": domain, "episode": f"e{episode}", "k": k, "p": p[k]}
                    | {"label": label, "tier": k or None, "verdict": "supporting" if k else ""}
                    for k in range(last + 1)
                ]
    return list(split_models({name: [row[name] for row in rows] for name in rows[0]}))


def evaluated(models: Sequence[Forecasts]) -> xr.Dataset:
    return evaluate(models, num_draws=20, num_smooth=2)
