"""bed: which experiment should be run next, in bits.

The core is imported here and stays light: values, information, protocols, exact worlds,
estimators, policies. Stand-ins for language models live in `bed.belief` and `bed.simulators`.
"""

from bed.errors import BedError, DataError, ImpossibleEvidenceError, NothingScoredError
from bed.estimators import (
    Estimator,
    ExactEIG,
    FactoredEIG,
    NestedMonteCarloEIG,
    ScreenedEIG,
    factored_eig,
    fit_slope,
    measured_slope,
)
from bed.evidence import (
    Episode,
    Evidence,
    Experiment,
    Fields,
    Hypothesis,
    Outcome,
    Stub,
    from_json,
    to_json,
)
from bed.information import entropy_bits, information_gain_bits, kl_bits, weight_of_evidence_db
from bed.policies import (
    HindsightPolicy,
    InformationPolicy,
    RandomPolicy,
    RelevancePolicy,
    UncertaintyPolicy,
    choose_one,
)
from bed.protocols import (
    BeliefModel,
    BeliefQuery,
    Beliefs,
    Choice,
    DesignProblem,
    OutcomeRequest,
    Outcomes,
    OutcomeSimulator,
    Policy,
)
from bed.worlds import World

__version__ = "0.1.0"

__all__ = [
    "BedError",
    "BeliefModel",
    "BeliefQuery",
    "Beliefs",
    "Choice",
    "DataError",
    "DesignProblem",
    "Episode",
    "Estimator",
    "Evidence",
    "ExactEIG",
    "Experiment",
    "FactoredEIG",
    "Fields",
    "HindsightPolicy",
    "Hypothesis",
    "ImpossibleEvidenceError",
    "InformationPolicy",
    "NestedMonteCarloEIG",
    "NothingScoredError",
    "Outcome",
    "OutcomeRequest",
    "OutcomeSimulator",
    "Outcomes",
    "Policy",
    "RandomPolicy",
    "RelevancePolicy",
    "ScreenedEIG",
    "Stub",
    "UncertaintyPolicy",
    "World",
    "__version__",
    "choose_one",
    "entropy_bits",
    "factored_eig",
    "fit_slope",
    "from_json",
    "information_gain_bits",
    "kl_bits",
    "measured_slope",
    "to_json",
    "weight_of_evidence_db",
]
