"""Models on many workers: the same answers as in one process, sooner, and through faults.

`open_fleet` joins a Ray cluster or starts one here; `Fleet.spread` sends copies of belief models
and simulators to its workers and returns models that ask them.
"""

from bed.fleet.dispatch import FleetError, Lost, WorkerDiedError, WorkerGoneError, dispatch
from bed.fleet.fleet import Fleet, open_fleet
from bed.fleet.models import FleetBelief, FleetSimulator
from bed.fleet.shards import shared_out

__all__ = [
    "Fleet",
    "FleetBelief",
    "FleetError",
    "FleetSimulator",
    "Lost",
    "WorkerDiedError",
    "WorkerGoneError",
    "dispatch",
    "open_fleet",
    "shared_out",
]
