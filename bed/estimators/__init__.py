"""What is each candidate worth, in bits? One estimator a file, all with the same `score`."""

from bed.estimators.exact import ExactEIG
from bed.estimators.factored import FactoredEIG, factored_eig
from bed.estimators.nested import NestedMonteCarloEIG
from bed.estimators.scores import Estimator, Scores

__all__ = ["Estimator", "ExactEIG", "FactoredEIG", "NestedMonteCarloEIG", "Scores", "factored_eig"]
