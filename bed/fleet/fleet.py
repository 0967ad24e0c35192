"""A fleet: copies of models on many workers, behind models that look like one."""

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bed import __version__
from bed.errors import DataError
from bed.fleet.dispatch import FleetError, dispatch
from bed.fleet.models import FleetBelief, FleetSimulator
from bed.fleet.shards import home_key, shared_out
from bed.protocols import BeliefModel
from bed.transport import HttpTransport

if TYPE_CHECKING:
    from bed.fleet.actors import Counts, RayStore, RayWorker

__all__ = ["Fleet", "open_fleet"]

_SECONDS_TO_START = 120.0
_LOCAL_OBJECTS = 256 * 2**20


@dataclass(eq=False)
class Fleet:
    """Workers on a Ray cluster that is up.

    Attributes:
        num_workers: of each `spread`.
        gpus_each: GPUs that each worker asks Ray for.
    """

    num_workers: int
    gpus_each: float = 0.0
    _workers: list["RayWorker"] = field(default_factory=list)
    _stores: list["RayStore"] = field(default_factory=list)
    _closed: threading.Event = field(default_factory=threading.Event)

    def spread(
        self, parts: Mapping[str, Any], servers: Mapping[str, HttpTransport] | None = None
    ) -> dict[str, Any]:
        """Send copies of models to the workers; return models that ask them.

        The models are pickled together. Each worker prefers its share of the servers' replicas and
        asks the others where those fail. What they count is added to the tallies of `servers`.

        Args:
            parts: name -> belief model or simulator.
            servers: endpoint -> the connections that the parts use.

        Raises:
            DataError: for a part that cannot be pickled.
            FleetError: where the workers do not start.
        """
        import ray

        from bed.fleet.actors import RayWorker

        servers = servers or {}
        try:
            packed = ray.cloudpickle.dumps((dict(parts), dict(servers)))
        except Exception as error:  # pickling raises whatever the models' parts raise
            raise DataError(
                f"{', '.join(parts)}: cannot be sent to workers ({error}); a model must be "
                "picklable, its connections included"
            ) from error

        def count(counts: "Counts") -> None:
            for name, of in counts.items():
                servers[name].tally.give(of)

        reference = ray.put(packed)
        workers = [
            RayWorker(reference, place, self.num_workers, self.gpus_each, count)
            for place in range(self.num_workers)
        ]
        self._workers += workers
        self._check(workers)

        def ask(part: str, items: Sequence[Any]) -> list[Any]:
            if self._closed.is_set():
                raise FleetError("the fleet is closed; ask it inside the block that opened it")
            shards = shared_out([home_key(item) for item in items], self.num_workers)
            return dispatch(workers, part, items, shards, self._closed.is_set)

        return {
            name: (FleetBelief if isinstance(model, BeliefModel) else FleetSimulator)(
                model, partial(ask, name)
            )
            for name, model in parts.items()
        }

    def open_store(self, path: Path, max_bytes: int) -> "RayStore":
        """Open a store of answers that all workers reach, see `bed.transport.AnswerStore`.

        Args:
            path: of its file, on this node.
            max_bytes: limit of its size.
        """
        from bed.fleet.actors import RayStore

        self._stores.append(RayStore(path, max_bytes))
        return self._stores[-1]

    def close(self) -> None:
        """End the workers, whatever they are doing; who still waits for them gets an error."""
        self._closed.set()
        for worker in self._workers:
            worker.kill()
        for store in self._stores:
            store.close()

    def _check(self, workers: Sequence["RayWorker"]) -> None:
        """Wait until the workers are up, with the same bed."""
        import ray

        for place, asked in enumerate([worker.version() for worker in workers]):
            try:
                found = asked.result(_SECONDS_TO_START)
            except TimeoutError as error:
                raise FleetError(
                    f"worker {place + 1} of {len(workers)} has not started within "
                    f"{_SECONDS_TO_START:g} s: each needs {self.gpus_each:g} GPUs, and the cluster "
                    f"has {ray.cluster_resources().get('GPU', 0):g}; ask for fewer workers"
                ) from error
            except Exception as error:  # whatever a copy of a model raises where it is unpacked
                why = str(error).strip().splitlines()[-1]
                raise FleetError(
                    f"worker {place + 1} of {len(workers)} cannot start: {why}; bed and the "
                    "extras that its models need must be installed on every node"
                ) from error
            if found != __version__:
                raise FleetError(
                    f"worker {place + 1} of {len(workers)} runs bed {found}, this is "
                    f"{__version__}; install one version on all nodes"
                )


@contextmanager
def open_fleet(
    num_workers: int | None = None, address: str | None = None, gpus_each: float = 0.0
) -> Iterator[Fleet]:
    """Join a Ray cluster, or start one on this machine and stop it at the end.

    Where this process has joined one already, that one is used and left running.

    Args:
        num_workers: of each `Fleet.spread`; for served models one for each replica. By default
            one for each node of the cluster.
        address: of a cluster, HOST:PORT or "auto" for one that runs on this node; by default the
            environment variable RAY_ADDRESS, and without that a cluster of this machine.
        gpus_each: GPUs that each worker asks Ray for, where it runs a model itself.

    Raises:
        DataError: for fewer workers than one, where Ray is missing, or for an address of Ray's
            client, which has no part in the cluster.
        FleetError: where there is no such cluster, or it cannot be joined.
    """
    if num_workers is not None and num_workers < 1:
        raise DataError(f"workers is {num_workers}; a fleet needs at least one")
    # Ray would report to its makers
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise DataError("a fleet needs Ray: pip install 'bed-engine[ray]'") from error
    is_guest = ray.is_initialized()
    if not is_guest:
        _join(address or os.environ.get("RAY_ADDRESS") or "local")
    num_nodes = sum(node["Alive"] for node in ray.nodes())
    fleet = Fleet(num_workers or num_nodes, gpus_each)
    try:
        yield fleet
    finally:
        fleet.close()
        if not is_guest:
            ray.shutdown()


def _join(address: str) -> None:
    import ray

    if "://" in address:
        raise DataError(
            f"{address!r} is an address of Ray's client; run bed on a node of the cluster and give "
            "'auto' or HOST:PORT of its head"
        )
    # what Ray would take from the machine is far more than shards need
    of_local: dict[str, Any] = (
        {"include_dashboard": False, "object_store_memory": _LOCAL_OBJECTS}
        if address == "local"
        else {}
    )
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **of_local)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        raise FleetError(f"no Ray cluster at {address!r} that can be joined: {error}") from error
