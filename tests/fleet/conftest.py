"""Ray in a network of its own: what it listens on is seen by nobody else."""

import importlib.util
import os
import socket
from collections.abc import Iterator

import pytest

from tests.conftest import NO_NETWORK


@pytest.fixture(scope="session")
def lonely() -> None:
    """Skip where another machine could reach what Ray listens on, or where there is no Ray."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip(f"{NO_NETWORK}: Ray is not installed")
    found = [name for _, name in socket.if_nameindex()]
    if found != ["lo"]:
        pytest.skip(f"{NO_NETWORK}: there are {found} here; run them with make test-fleet")


@pytest.fixture(scope="session")
def cluster(lonely: None) -> Iterator[None]:
    """A Ray cluster of this process, which its fleets are guests of."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray

    ray.init(
        address="local",
        include_dashboard=False,
        object_store_memory=256 * 2**20,
        log_to_driver=False,
        logging_level="ERROR",
    )
    yield
    ray.shutdown()
