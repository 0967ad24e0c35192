"""bed: which experiment should be run next, in bits.

The core (values, information, protocols, exact worlds, estimators) is imported here and stays
light. Stand-ins live in `bed.belief` and `bed.simulators`, choices in `bed.policies`.
"""

__version__ = "0.1.0"
