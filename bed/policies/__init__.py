"""Which candidate next? Every policy ranks candidates and chooses the best."""

from bed.policies.hindsight import HindsightPolicy
from bed.policies.information import InformationPolicy
from bed.policies.naive import NaivePolicy
from bed.policies.ranking import choose_one
from bed.policies.simple import RandomPolicy, RelevancePolicy, UncertaintyPolicy

__all__ = [
    "HindsightPolicy",
    "InformationPolicy",
    "NaivePolicy",
    "RandomPolicy",
    "RelevancePolicy",
    "UncertaintyPolicy",
    "choose_one",
]
