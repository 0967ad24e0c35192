"""What is each candidate worth, in bits? One estimator a file, all with the same `score`."""

from bed.estimators.bounds import SequenceBounds, sequence_bounds
from bed.estimators.exact import ExactEIG
from bed.estimators.factored import FactoredEIG, factored_eig
from bed.estimators.nested import NestedMonteCarloEIG
from bed.estimators.scores import Estimator, Scores
from bed.estimators.screened import ScreenedEIG
from bed.estimators.slope import Slope, fit_slope, measured_slope

__all__ = [
    "Estimator",
    "ExactEIG",
    "FactoredEIG",
    "NestedMonteCarloEIG",
    "Scores",
    "ScreenedEIG",
    "SequenceBounds",
    "Slope",
    "factored_eig",
    "fit_slope",
    "measured_slope",
    "sequence_bounds",
]
