"""The engine file: which models play which part, where they are served and how they are asked.

One frozen dataclass a table; `docs/engine.md` says what each key means. Secrets never stand in the
file: an endpoint names the environment variable that holds its key.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from bed.belief.presets import PRESETS
from bed.chat import Dialect
from bed.domains import canonical
from bed.engine.reading import At, Bounds, read
from bed.errors import DataError
from bed.evaluation.calibration import read_calibration
from bed.serve import ServeSpec
from bed.transport import Endpoint

__all__ = [
    "BeliefSettings",
    "CacheSettings",
    "Calibration",
    "ChatSettings",
    "ClassifierSettings",
    "EndpointSettings",
    "Engine",
    "GenerativeSettings",
    "LogprobSettings",
    "PolicySettings",
    "Served",
    "SimulatorSettings",
    "StandIn",
    "TransformersSettings",
    "VerbalSettings",
    "load_engine",
    "system_texts",
]

Count = Annotated[int, Bounds(1)]
Positive = Annotated[float, Bounds(0, is_open=True)]
NonNegative = Annotated[float, Bounds(0)]


@dataclass(frozen=True, kw_only=True)
class EndpointSettings:
    """`[endpoints.NAME]`: replicas that serve one model.

    Attributes:
        urls: base URLs, without /v1.
        urls_file: instead, a file with one base URL a line, which a scheduler may rewrite.
        serve: instead of URLs, a server that `bed serve` starts from this file.
        key_env: environment variable that holds the key; none is sent without it.
        timeout: seconds to wait for an answer.
        max_in_flight: requests at once to one replica.
        tries: of one request, the first included.
        patience: seconds to wait for a server to come back when none of them answers.
    """

    urls: tuple[str, ...] = ()
    urls_file: Path | None = None
    serve: str | None = None
    key_env: str | None = None
    timeout: Positive = 120.0
    max_in_flight: Count = 16
    tries: Count = 4
    patience: NonNegative = 60.0


@dataclass(frozen=True, kw_only=True)
class Served:
    """What every part that asks an endpoint says.

    Attributes:
        endpoint: a table of [endpoints].
        model: as the server names it; by default the model of the endpoint's own server.
        system: domain -> file with a system prompt, taken to the letter, instead of bed's own.
    """

    endpoint: str
    model: str | None = None
    system: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class _Tokenized(Served):
    """What a part that sends token ids says.

    Attributes:
        tokenizer: name on the hub or folder; by default the model's.
        revision: branch, tag or commit of the model and its tokenizer on the hub.
        batch_size: prompts of one request.
    """

    tokenizer: str | None = None
    revision: str | None = None
    batch_size: Count = 64


@dataclass(frozen=True, kw_only=True)
class ChatSettings(Served):
    """`[naive]`, and what every part that chats says; see `bed.chat.Chat`."""

    temperature: NonNegative = 1.0
    max_tokens: Count = 512
    thinking: bool = False
    structured: bool = False
    dialect: Dialect = "vllm"
    sends_seed: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StandIn:
    """A part played by a statistical model that is fitted on the training episodes."""

    kind: Literal["stand-in"]


@dataclass(frozen=True, kw_only=True)
class ClassifierSettings(_Tokenized):
    """`[belief] kind = "classifier"`: a classification head served by vLLM.

    Attributes:
        thinking: whether prompts ask for reasoning, as the model was trained.
        golden: JSON lines of prompts with the answers that the model must give.
        noise: standard error of an answer's log odds; None where unknown.
    """

    kind: Literal["classifier"]
    thinking: bool = False
    golden: Path | None = None
    noise: NonNegative | None = None


@dataclass(frozen=True, kw_only=True)
class LogprobSettings(_Tokenized):
    """`[belief] kind = "logprob"`: P(Yes) against P(No) of the next token."""

    kind: Literal["logprob"]
    noise: NonNegative | None = None


@dataclass(frozen=True, kw_only=True)
class VerbalSettings(ChatSettings):
    """`[belief] kind = "verbal"`: a chat model that states a probability.

    Attributes:
        draws: how often each question is asked; the mean counts.
        noise: see `ClassifierSettings`; several draws tell it themselves.
    """

    kind: Literal["verbal"]
    draws: Count = 1
    noise: NonNegative | None = None


@dataclass(frozen=True, kw_only=True)
class TransformersSettings:
    """`[belief] kind = "transformers"`: a classifier in this process.

    Attributes:
        model: name on the hub or folder.
        device: as torch names it; None takes a GPU where there is one.
        dtype: of the weights.
    """

    kind: Literal["transformers"]
    model: str
    tokenizer: str | None = None
    revision: str | None = None
    thinking: bool = False
    batch_size: Count = 16
    device: str | None = None
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    system: Mapping[str, Path] = field(default_factory=dict)
    noise: NonNegative | None = None


@dataclass(frozen=True, kw_only=True)
class GenerativeSettings(ChatSettings):
    """`[simulator] kind = "generative"`: a chat model that writes results."""

    kind: Literal["generative"]


BeliefSettings = (
    ClassifierSettings | VerbalSettings | LogprobSettings | TransformersSettings | StandIn
)
SimulatorSettings = GenerativeSettings | StandIn


@dataclass(frozen=True, kw_only=True)
class PolicySettings:
    """`[policy]`: how candidates are scored.

    Attributes:
        samples: outcomes a branch. None takes one; with a simulator that ranks its outcomes, it
            takes the screened estimator.
        slope: multiplies each log-odds update of the belief, see `bed.estimators.slope`.
        base_rates: whether branch weights move to the base rates of the training episodes.
    """

    samples: Count | None = None
    slope: Positive = 1.0
    base_rates: bool = True


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """`[calibration]`: log odds of the belief become `slope * log odds + intercept`."""

    slope: Positive = 1.0
    intercept: float = 0.0


@dataclass(frozen=True, kw_only=True)
class CacheSettings:
    """`[cache]`: what servers answered, kept on disk and not asked again.

    Attributes:
        path: of the file.
        max_mb: limit of its size, in millions of bytes; beyond it the oldest answers go.
    """

    path: Path
    max_mb: Count = 4096


_NOT_IDENTITY = {"endpoint", "golden", "batch_size", "device"}
"""Keys that say how a model is reached, not what it answers."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """An engine file."""

    belief: BeliefSettings
    simulator: SimulatorSettings
    tracker: BeliefSettings | None = None
    naive: ChatSettings | None = None
    policy: PolicySettings = PolicySettings()
    calibration: Calibration | None = None
    cache: CacheSettings | None = None
    endpoints: Mapping[str, EndpointSettings] = field(default_factory=dict)
    serve: Mapping[str, ServeSpec] = field(default_factory=dict)
    file: Path = field(init=False, default=Path("engine.toml"))

    def parts(self) -> dict[str, Any]:
        """Return the settings of each part that the file gives, by the name of its table."""
        named = {name: getattr(self, name) for name in _PARTS}
        return {name: part for name, part in named.items() if part is not None}

    @property
    def uses_stand_ins(self) -> bool:
        """Whether any part is fitted on the training episodes."""
        return any(isinstance(part, StandIn) for part in self.parts().values())

    def server_of(self, endpoint: str) -> ServeSpec | None:
        """Return the server of this file behind an endpoint; None where there is none."""
        name = self.endpoints[endpoint].serve
        return None if name is None else self.serve[name]

    def model_of(self, part: Served) -> str:
        """Return the model of a part as its server names it; empty where the file does not say."""
        server = self.server_of(part.endpoint)
        return part.model or ("" if server is None else server.model)

    def source(self, name: str) -> str:
        """Return the folder of this name beside the file, where there is one; else the name."""
        folder = self.file.parent / name
        return str(folder) if folder.is_dir() else name

    def endpoint(self, name: str) -> Endpoint:
        """Return an endpoint with its URLs.

        Raises:
            DataError: for settings that cannot be, see `bed.transport.Endpoint`.
        """
        of = self.endpoints[name]
        server = self.server_of(name)
        return Endpoint(
            of.urls if server is None else (server.url,),
            of.key_env,
            of.timeout,
            of.max_in_flight,
            of.tries,
            of.patience,
            of.urls_file,
        )

    def answered_by(self, endpoint: str) -> list[Any]:
        """Return what an endpoint's answers depend on beside the calls, as JSON."""
        server = self.server_of(endpoint)
        served = None if server is None else [getattr(server, key) for key in _OF_SERVER]
        parts = [part for part in self.parts().values() if isinstance(part, Served)]
        revisions = {
            str(getattr(part, "revision", None)) for part in parts if part.endpoint == endpoint
        }
        return [served, sorted(revisions)]

    def identity(self) -> dict[str, Any]:
        """Return what answers depend on, as JSON: no address, no secret, no setting of speed."""
        found: dict[str, Any] = {name: _identity(part) for name, part in self.parts().items()}
        for name, part in self.parts().items():
            if isinstance(part, Served):
                found[name]["model"] = self.model_of(part)
                if (server := self.server_of(part.endpoint)) is not None:
                    found[name]["served"] = {key: getattr(server, key) for key in _OF_SERVER}
        found["policy"] = _identity(self.policy)
        if self.calibration is not None:
            found["calibration"] = _identity(self.calibration)
        return found


_PARTS = ("belief", "tracker", "simulator", "naive")
_OF_SERVER = ("model", "revision", "dtype")


def _identity(settings: Any) -> dict[str, Any]:
    found = {
        item.name: getattr(settings, item.name)
        for item in fields(settings)
        if item.name not in _NOT_IDENTITY
    }
    if "system" in found:
        found["system"] = system_texts(settings.system)
    return found


def system_texts(files: Mapping[str, Path]) -> dict[str, str]:
    """Return the system prompt of each domain, under the domain's own name.

    Raises:
        DataError: for an unknown domain, or a file that cannot be read.
    """
    return {canonical(domain): _text(file) for domain, file in files.items()}


def load_engine(path: Path) -> Engine:
    """Read an engine file.

    Raises:
        DataError: for a file that cannot be read, is no TOML, or holds what it must not; the
            message names the file, the dotted key, the value and what is allowed.
    """
    try:
        tables = tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path}: is no TOML: {error}") from error
    root = At(path)
    _refuse_keys(tables, root)
    _take_calibration(tables, root)
    for name in {"belief", "tracker", "simulator"} & set(tables):
        if isinstance(tables[name], dict):
            tables[name] = _with_preset(tables[name], root / name)
    engine: Engine = read(Engine, tables, root)
    object.__setattr__(engine, "file", path)
    for name in engine.endpoints:
        _check_endpoint(engine, name, root / "endpoints" / name)
    for name, part in engine.parts().items():
        _check_part(engine, part, root / name)
    return engine


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 text ({error.reason})") from error


_SECRET = re.compile(r"(key|token|secret|password|authorization|bearer)$", re.IGNORECASE)
_WRITTEN_KEY = re.compile(r"--api-key|bearer ", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


def _refuse_keys(value: object, at: At) -> None:
    """Refuse secrets wherever they stand, without showing them."""
    if isinstance(value, dict):
        for name, item in value.items():
            _refuse_keys(item, at / name)
    elif isinstance(value, list):
        for item in value:
            _refuse_keys(item, at)
    elif isinstance(value, str):
        if _SECRET.search(at.key) or _WRITTEN_KEY.match(value):
            raise at.error(
                "would keep a secret in this file; put it into an environment variable, which an "
                "endpoint names in key_env"
            )
        if at.key.endswith(".key_env") and not _VARIABLE.fullmatch(value):
            raise at.error(
                "must be the name of an environment variable in capitals, such as OPENAI_API_KEY, "
                "and never the key itself"
            )


def _with_preset(table: Mapping[str, Any], at: At) -> dict[str, Any]:
    """Return a table with the keys of the released model that it names; its own keys win."""
    rest = dict(table)
    name = rest.pop("preset", None)
    if name is None:
        return rest
    return {**PRESETS[read(Literal[tuple(PRESETS)], name, at / "preset")], **rest}


def _take_calibration(tables: dict[str, Any], root: At) -> None:
    """Replace `[calibration] file = ...` by what `bed evaluate --write-calibration` wrote there.

    A slope of [policy] that stands in the engine file wins.
    """
    table = tables.get("calibration")
    if not isinstance(table, dict) or "file" not in table:
        return
    at = root / "calibration"
    if others := sorted(table.keys() - {"file"}):
        raise at.error(f"has file and {others[0]}; give either the file or its numbers")
    path = read(Path, table["file"], at / "file")
    try:
        fit = read_calibration(path)
    except DataError as error:
        raise (at / "file").error(f"cannot be used: {error}") from error
    tables["calibration"] = {"slope": fit.slope, "intercept": fit.intercept}
    policy = tables.setdefault("policy", {})
    if isinstance(policy, dict):
        policy.setdefault("slope", fit.update_slope)


def _check_endpoint(engine: Engine, name: str, at: At) -> None:
    of = engine.endpoints[name]
    if [bool(of.urls), of.urls_file is not None, of.serve is not None].count(True) != 1:
        raise at.error(
            "must have one of urls = [...], urls_file = FILE and serve = NAME of a table "
            "[serve.NAME]"
        )
    if of.serve is not None and of.serve not in engine.serve:
        raise (at / "serve").unknown(of.serve, engine.serve)
    try:
        engine.endpoint(name)
    except DataError as error:
        raise at.error(f"cannot be: {error}") from error


def _check_part(engine: Engine, part: Any, at: At) -> None:
    if not isinstance(part, Served):
        return
    if part.endpoint not in engine.endpoints:
        raise (at / "endpoint").unknown(part.endpoint, engine.endpoints)
    if not engine.model_of(part):
        raise (at / "model").error("is missing: the name under which the endpoint serves it")
    server = engine.server_of(part.endpoint)
    needed = "classifier" if isinstance(part, ClassifierSettings) else "chat"
    if server is not None and server.kind != needed:
        raise (at / "endpoint").error(
            f"is {part.endpoint!r}, whose server is of kind {server.kind!r}; it must be {needed!r}"
        )
