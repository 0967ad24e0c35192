"""Belief models: p(theta = 1 | h, I)."""

from bed.belief.additive import AdditiveBelief, fit_additive_belief
from bed.belief.exact import ExactBelief
from bed.belief.routed import DomainBelief
from bed.belief.wrappers import PermutationAveraged, Recalibrated, Repeated, fit_platt

__all__ = [
    "AdditiveBelief",
    "DomainBelief",
    "ExactBelief",
    "PermutationAveraged",
    "Recalibrated",
    "Repeated",
    "fit_additive_belief",
    "fit_platt",
]
