"""Belief models: p(theta = 1 | h, I)."""

from bed.belief.additive import AdditiveBelief, fit_additive_belief
from bed.belief.classifier import ClassifierBelief, ModelCheckError
from bed.belief.exact import ExactBelief
from bed.belief.in_process import TransformersBelief
from bed.belief.logprob import LogprobBelief
from bed.belief.routed import DomainBelief
from bed.belief.verbal import VerbalBelief
from bed.belief.wrappers import (
    PermutationAveraged,
    Recalibrated,
    Repeated,
    WithNoise,
    fit_platt,
)

__all__ = [
    "AdditiveBelief",
    "ClassifierBelief",
    "DomainBelief",
    "ExactBelief",
    "LogprobBelief",
    "ModelCheckError",
    "PermutationAveraged",
    "Recalibrated",
    "Repeated",
    "TransformersBelief",
    "VerbalBelief",
    "WithNoise",
    "fit_additive_belief",
    "fit_platt",
]
