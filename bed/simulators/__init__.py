"""Outcome simulators: y ~ p(y | x, theta', I)."""

from bed.simulators.conditional import ConditionalSimulator, fit_conditional_simulator
from bed.simulators.exact import ExactSimulator
from bed.simulators.exemplar import ExemplarSimulator, fit_exemplar_simulator
from bed.simulators.generative import GenerativeSimulator
from bed.simulators.routed import DomainSimulator

__all__ = [
    "ConditionalSimulator",
    "DomainSimulator",
    "ExactSimulator",
    "ExemplarSimulator",
    "GenerativeSimulator",
    "fit_conditional_simulator",
    "fit_exemplar_simulator",
]
