"""From settings to objects: the models of an engine file, over the connections that they share."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bed.belief import (
    ClassifierBelief,
    DomainBelief,
    LogprobBelief,
    Recalibrated,
    TransformersBelief,
    VerbalBelief,
)
from bed.belief.classifier import Golden, GoldenVetting, read_golden
from bed.belief.wrappers import WithNoise
from bed.chat import Chat
from bed.domains import canonical, kind
from bed.engine.settings import (
    BeliefSettings,
    ChatSettings,
    ClassifierSettings,
    Engine,
    LogprobSettings,
    Served,
    StandIn,
    TransformersSettings,
    VerbalSettings,
    system_texts,
)
from bed.episodes.files import read_episodes
from bed.errors import DataError
from bed.evidence import Evidence, Stub
from bed.policies import NaivePolicy
from bed.protocols import BeliefModel, OutcomeSimulator
from bed.simulators import DomainSimulator, GenerativeSimulator
from bed.standins import StandIns, cached_stand_ins
from bed.tokens import ChatTemplate
from bed.transport import (
    AnswerStore,
    CachedTransport,
    HttpTransport,
    PrefixTokens,
    Store,
    Transport,
    prefix_tokens,
)

__all__ = [
    "Sources",
    "build_belief",
    "build_naive",
    "build_raw_belief",
    "build_simulator",
    "connected",
    "golden_of",
    "stand_ins_of",
]

_MB = 10**6
_GOLDEN_FLOAT32, _GOLDEN_ROUGH = 1e-3, 0.05
"""By how much a golden logit may differ, where the server computes in float32 and elsewhere."""

StandInsByDomain = Mapping[str, StandIns]


@dataclass(frozen=True)
class Sources:
    """What the parts of an engine are built over.

    Attributes:
        engine: the file.
        transports: endpoint -> its connections, shared by all parts that ask it.
        stand_ins: fits stand-ins, or finds them fitted; called where a part is one.
        examples: finds a training stub of each kind of experiment; called where a model writes
            results.
        servers: endpoint -> the connections alone, whatever lies before them.
    """

    engine: Engine
    transports: Mapping[str, Transport]
    stand_ins: Callable[[], StandInsByDomain]
    examples: Callable[[], Evidence] = tuple
    servers: Mapping[str, HttpTransport] = field(default_factory=dict)

    def prefix_tokens(self) -> dict[str, PrefixTokens]:
        """Return what the servers of each endpoint say of their prefix caches."""
        return {
            name: prefix_tokens(of.get("/metrics").values()) for name, of in self.servers.items()
        }

    def usage(self, before: Mapping[str, PrefixTokens]) -> dict[str, Any]:
        """Return what each endpoint was asked and what came of it, as JSON.

        That is `bed.transport.Tally.report`, and `prefix_hit_share`: of the prompts' tokens, where
        the servers count them (vLLM does).

        Args:
            before: what the servers said at the start.
        """
        found = {name: of.tally.report() for name, of in self.transports.items()}
        for name, now in self.prefix_tokens().items():
            if (share := now.share_since(before[name])) is not None:
                found[name]["prefix_hit_share"] = share
        return found

    def tallies(self) -> dict[str, dict[str, int]]:
        """Return what was sent to each endpoint and what came of it, see `bed.transport.Tally`."""
        return {name: of.tally.snapshot() for name, of in self.transports.items()}


@contextmanager
def connected(
    engine: Engine,
    episodes: Path | None = None,
    seed: int = 0,
    uses_cache: bool = True,
    vets: bool = True,
    open_store: Callable[[Path, int], Store] = AnswerStore,
) -> Iterator[Sources]:
    """Open the endpoints that the parts of an engine ask, and close them at the end.

    Args:
        engine: the file.
        episodes: file on whose training split stand-ins are fitted.
        seed: of stand-ins.
        uses_cache: whether answers may come from the cache that the file names.
        vets: whether a server is asked nothing until it gives golden prompts their logits.
        open_store: opens the cache, given its path and its limit in bytes.

    Raises:
        DataError: for a cache that cannot be used.
    """
    used = dict.fromkeys(p.endpoint for p in engine.parts().values() if isinstance(p, Served))
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(
                HttpTransport(
                    engine.endpoint(name), vetting=_vetting(engine, name) if vets else None
                )
            )
            for name in used
        }
        transports: dict[str, Transport] = dict(servers)
        if (cache := engine.cache) is not None and uses_cache:
            store = stack.enter_context(closing(open_store(cache.path, cache.max_mb * _MB)))
            transports = {
                name: CachedTransport(of, store, engine.answered_by(name))
                for name, of in transports.items()
            }
        fitted, examples = stand_ins_of(episodes, seed), partial(_examples, episodes)
        yield Sources(engine, transports, fitted, examples, servers)


def _vetting(engine: Engine, endpoint: str) -> GoldenVetting | None:
    """Return the golden prompts of the part that asks an endpoint; None where there are none."""
    for part in engine.parts().values():
        if isinstance(part, ClassifierSettings) and part.endpoint == endpoint and part.golden:
            model = engine.model_of(part)
            golden, tolerance = golden_of(engine, part)
            template = _template(engine, part, model, part.thinking)
            return GoldenVetting(template, model, tuple(golden), tolerance) if golden else None
    return None


def golden_of(engine: Engine, part: ClassifierSettings) -> tuple[list[Golden], float]:
    """Return a part's golden prompts, none where it names no file, and what they may differ by.

    Args:
        engine: the file.
        part: of it.

    Raises:
        DataError: for a file that cannot be read.
    """
    golden = [] if part.golden is None else read_golden(part.golden)
    server = engine.server_of(part.endpoint)
    is_exact = server is not None and server.precision == "float32"
    return golden, _GOLDEN_FLOAT32 if is_exact else _GOLDEN_ROUGH


def _examples(episodes: Path | None) -> Evidence:
    """Return the first training stub of each kind of experiment."""
    if episodes is None:
        return ()
    found: dict[tuple[str, str], Stub] = {}
    for episode in read_episodes(episodes, "train").episodes:
        for stub in episode.pool:
            domain = canonical(stub.experiment.hypothesis.domain)
            found.setdefault((domain, kind(stub.experiment)), stub)
    return tuple(found.values())


def stand_ins_of(episodes: Path | None, seed: int = 0) -> Callable[[], StandInsByDomain]:
    """Return a function that fits stand-ins on an episode file, or says that there is none.

    Args:
        episodes: the file.
        seed: of the fit.
    """

    def fitted() -> StandInsByDomain:
        if episodes is None:
            raise DataError("a stand-in is fitted on training episodes; give --episodes FILE")
        return cached_stand_ins(episodes, seed)

    return fitted


def build_belief(sources: Sources, part: str) -> BeliefModel:
    """Return a belief model with its measured noise and calibration.

    Args:
        sources: see `Sources`.
        part: "belief" or "tracker"; the calibration is the belief's.

    Raises:
        DataError: for a system prompt that cannot be read, or settings that cannot be.
    """
    settings = getattr(sources.engine, part)
    belief = build_raw_belief(sources, settings)
    noise = getattr(settings, "noise", None)
    if noise is not None:
        belief = WithNoise(belief, noise)
    calibration = sources.engine.calibration
    if part == "belief" and calibration is not None:
        belief = Recalibrated(belief, calibration.slope, calibration.intercept)
    return belief


def build_raw_belief(sources: Sources, settings: BeliefSettings) -> BeliefModel:
    """Return a belief model as it answers by itself.

    Args:
        sources: see `Sources`.
        settings: of a belief or a tracker.
    """
    if isinstance(settings, StandIn):
        return DomainBelief({name: of.belief for name, of in sources.stand_ins().items()})
    systems = system_texts(settings.system)
    if isinstance(settings, VerbalSettings):
        return VerbalBelief(_chat(sources, settings), settings.draws, systems)
    engine = sources.engine
    if isinstance(settings, TransformersSettings):
        return TransformersBelief(
            engine.source(settings.model),
            _template(engine, settings, settings.model, settings.thinking),
            device=settings.device,
            batch_size=settings.batch_size,
            dtype=settings.dtype,
            thinking=settings.thinking,
            systems=systems,
        )
    transport, model = sources.transports[settings.endpoint], engine.model_of(settings)
    if isinstance(settings, LogprobSettings):
        return LogprobBelief(
            transport,
            _template(engine, settings, model),
            model,
            batch_size=settings.batch_size,
            systems=systems,
        )
    return ClassifierBelief(
        transport,
        _template(engine, settings, model, settings.thinking),
        model,
        batch_size=settings.batch_size,
        thinking=settings.thinking,
        systems=systems,
    )


def _template(
    engine: Engine,
    settings: ClassifierSettings | LogprobSettings | TransformersSettings,
    model: str,
    thinking: bool = False,
) -> ChatTemplate:
    name = engine.source(settings.tokenizer or model)
    return ChatTemplate(name, settings.revision, thinking=thinking)


def build_simulator(sources: Sources) -> OutcomeSimulator:
    """Return the outcome simulator.

    Args:
        sources: see `Sources`.

    Raises:
        DataError: as `build_belief`.
    """
    settings = sources.engine.simulator
    if isinstance(settings, StandIn):
        return DomainSimulator({name: of.conditional for name, of in sources.stand_ins().items()})
    chat, systems = _chat(sources, settings), system_texts(settings.system)
    return GenerativeSimulator(chat, systems, sources.examples())


def build_naive(sources: Sources) -> NaivePolicy:
    """Return the policy that asks a chat model.

    Args:
        sources: see `Sources`.

    Raises:
        DataError: as `build_belief`, or where the file has no table [naive].
    """
    settings = sources.engine.naive
    if settings is None:
        raise DataError(
            f"policy 'naive' asks a chat model: give {sources.engine.file} a table [naive]"
        )
    return NaivePolicy(_chat(sources, settings), system_texts(settings.system))


def _chat(sources: Sources, settings: ChatSettings) -> Chat:
    return Chat(
        sources.transports[settings.endpoint],
        sources.engine.model_of(settings),
        settings.temperature,
        settings.max_tokens,
        settings.thinking,
        settings.structured,
        settings.dialect,
        settings.sends_seed,
        settings.extra,
    )
