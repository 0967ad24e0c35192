"""Real vLLM servers on this machine's CPU, with tiny models trained on real episodes.

The models are kept in the folder named by `BED_TINY_MODELS`, by default `.cache/tiny-models` of the
checkout: training takes minutes, once.
"""

import importlib.util
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bed.belief import ClassifierBelief
from bed.chat import Chat
from bed.episodes import EpisodeFile, read_episodes, write_episodes
from bed.episodes.depmap import Tables, build_depmap
from bed.serve import Server, ServeSpec, launch
from bed.tokens import ChatTemplate
from bed.transport import Endpoint, HttpTransport
from tests.conftest import NO_VLLM, ROOT
from tests.models.examples import SYSTEM

BELIEF = {"depmap": SYSTEM["belief"]}
CHOICE = {"depmap": SYSTEM["choice"]}
SIMULATE = {"depmap": SYSTEM["simulate"]}
MAX_LENGTH = 4096
_SEED = 0


@pytest.fixture(scope="session", autouse=True)
def needs_vllm() -> None:
    if importlib.util.find_spec("vllm") is None:
        pytest.skip(f"{NO_VLLM}: make test-vllm")


@pytest.fixture(scope="session")
def cache(needs_vllm: None) -> Path:
    named = os.environ.get("BED_TINY_MODELS")
    folder = Path(named) if named else ROOT / ".cache" / "tiny-models"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def episode_file(cache: Path, shared_data: Path) -> Path:
    """Real CRISPR measurements as episodes: 4,800 to train on, 2,400 to test."""
    path = cache / f"depmap-{_SEED}.parquet"
    if not path.is_file():
        source = shared_data / "data" / "depmap"
        tables = Tables(
            gene_effect_bins=source / "depmap22q1_crispr_bins.parquet",
            rnai_bins=source / "depmap22q1_rnai_bins.parquet",
            models=source / "cell_lines.csv",
        )
        write_episodes(path, build_depmap(tables, _SEED, max_episodes=8000))
    return path


@pytest.fixture(scope="session")
def test_split(episode_file: Path) -> EpisodeFile:
    return read_episodes(episode_file, "test")


@pytest.fixture(scope="session")
def models(cache: Path, episode_file: Path) -> Path:
    """The folder with `classifier` and `chat`."""
    from tests.models.train import make_models

    make_models(episode_file, cache / "models", _SEED)
    return cache / "models"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def spec(model: Path, *extra: str) -> ServeSpec:
    """How a tiny model is served: on a free port, by the name of its folder."""
    return ServeSpec(
        model=model.name,
        kind="classifier" if model.name == "classifier" else "chat",
        port=free_port(),
        device="cpu",
        max_model_len=MAX_LENGTH,
        extra_args=extra,
    )


Serve = Callable[[ServeSpec], Server]


@pytest.fixture(scope="session")
def serve(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Starts servers and stops them, at the latest when the session ends."""
    logs = tmp_path_factory.mktemp("servers")
    with ExitStack() as stack:

        def start(what: ServeSpec) -> Server:
            log = logs / f"{what.model}-{what.port}.log"
            server = stack.enter_context(launch(what, log, models))
            return server

        yield start


@pytest.fixture(scope="session")
def servers(serve: Serve, models: Path) -> dict[str, Server]:
    """One server for each model, started side by side."""
    found = {name: serve(spec(models / name)) for name in ("classifier", "chat")}
    for server in found.values():
        server.wait()
    return found


@pytest.fixture(scope="session")
def classifier(servers: dict[str, Server], template: ChatTemplate) -> Iterator[ClassifierBelief]:
    with HttpTransport(Endpoint((servers["classifier"].url,))) as transport:
        yield ClassifierBelief(transport, template, "classifier", systems=BELIEF)


@pytest.fixture(scope="session")
def chat(servers: dict[str, Server]) -> Iterator[Chat]:
    with HttpTransport(Endpoint((servers["chat"].url,))) as transport:
        yield Chat(transport, "chat", max_tokens=64, structured=True)


@pytest.fixture(scope="session")
def template(models: Path) -> ChatTemplate:
    return ChatTemplate(str(models / "classifier"))


def counter(transport: HttpTransport, name: str) -> float:
    """A counter of the server's own /metrics, summed over its labels."""
    (reply,) = transport.get("/metrics").values()
    assert reply.reason is None, reply.reason
    values = re.findall(rf"^vllm:{name}(?:\{{.*\}})? (\S+)$", reply.body, re.MULTILINE)
    assert values, f"no counter vllm:{name}"
    return sum(map(float, values))
