"""Engine files: what they may say, and how what they may not is named."""

import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

from bed.engine import load_engine
from bed.engine.settings import (
    BeliefSettings,
    CacheSettings,
    Calibration,
    ChatSettings,
    ClassifierSettings,
    EndpointSettings,
    PolicySettings,
    SimulatorSettings,
    VerbalSettings,
)
from bed.errors import DataError
from bed.evaluation.calibration import CalibrationFit, write_calibration
from bed.serve import ServeSpec
from tests.conftest import ROOT
from tests.engine.files import written

URL = "http://127.0.0.1:8101"
PLAIN: dict[str, Any] = {
    "endpoints": {"judge": {"urls": [URL]}},
    "belief": {"kind": "classifier", "endpoint": "judge", "model": "m"},
    "simulator": {"kind": "stand-in"},
}
SERVER = {"model": "m", "kind": "classifier", "port": 8107}


def test_a_small_file_has_defaults(tmp_path: Path) -> None:
    engine = load_engine(written(tmp_path, PLAIN))
    assert isinstance(engine.belief, ClassifierSettings)
    assert engine.belief.batch_size == 64
    assert engine.endpoint("judge").urls == (URL,)
    assert engine.policy.base_rates
    assert engine.uses_stand_ins
    assert list(engine.parts()) == ["belief", "simulator"]


def test_an_endpoint_may_be_a_server_of_the_file(tmp_path: Path) -> None:
    tables = {
        **PLAIN,
        "endpoints": {"judge": {"serve": "judge"}},
        "serve": {"judge": {"model": "models/judge", "kind": "classifier", "port": 8107}},
        "belief": {"kind": "classifier", "endpoint": "judge"},
    }
    engine = load_engine(written(tmp_path, tables))
    assert engine.endpoint("judge").urls == ("http://127.0.0.1:8107",)
    assert isinstance(engine.belief, ClassifierSettings)
    assert engine.model_of(engine.belief) == "models/judge"


def test_a_released_model_is_a_preset_whose_keys_can_be_overridden(tmp_path: Path) -> None:
    name = "EdisonScientific/Ibis0-30B-A3B-Classifier"
    belief = {"preset": name, "endpoint": "judge", "revision": "holdout-gwas"}
    engine = load_engine(written(tmp_path, {**PLAIN, "belief": belief}))
    assert isinstance(engine.belief, ClassifierSettings)
    assert (engine.belief.model, engine.belief.revision) == (name, "holdout-gwas")
    thinking = {"preset": "EdisonScientific/Ibis0-30B-A3B-Thinking", "endpoint": "judge"}
    engine = load_engine(written(tmp_path, {**PLAIN, "belief": thinking}))
    assert isinstance(engine.belief, VerbalSettings)
    assert engine.belief.thinking


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"belief": {"kind": "oracle"}}, r"belief.kind is 'oracle'.*use one of 'classifier'"),
        ({"belief": {}}, "belief.kind is missing"),
        (
            {"belief": {**PLAIN["belief"], "bach_size": 3}},
            r"belief.bach_size is no key here \(did you mean 'batch_size'\?\)",
        ),
        ({"belief": {**PLAIN["belief"], "batch_size": 0}}, "belief.batch_size is 0; give"),
        ({"belief": {**PLAIN["belief"], "thinking": "yes"}}, "belief.thinking is 'yes'; give true"),
        (
            {"belief": {"kind": "classifier", "endpoint": "jugde", "model": "m"}},
            r"belief.endpoint is 'jugde' \(did you mean 'judge'\?\)",
        ),
        ({"belief": {"kind": "classifier", "endpoint": "judge"}}, "belief.model is missing"),
        ({"endpoints": {"judge": {}}}, "endpoints.judge must have one of urls"),
        ({"endpoints": {"judge": {"urls": ["localhost"]}}}, "'localhost' is no base URL"),
        ({"endpoints": {"judge": {"serve": "x"}}}, "endpoints.judge.serve is 'x'; there is none"),
        ({"engine": {}}, "engine is no key here"),
        ({"policy": {"slope": -1.0}}, "policy.slope is -1.0; give a number above 0"),
        ({"belief": {"preset": "Ibis0"}}, "belief.preset is 'Ibis0'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_named_with_its_key(
    tmp_path: Path, change: Mapping[str, Any], message: str
) -> None:
    path = written(tmp_path, {**PLAIN, **change})
    with pytest.raises(DataError, match=message) as error:
        load_engine(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    "change",
    [
        {"endpoints": {"judge": {"urls": [URL], "key_env": "sk-live-123"}}},
        {"endpoints": {"judge": {"urls": [URL], "api_key": "sk-live-123"}}},
        {"endpoints": {"judge": {"urls": ["http://me:sk-live-123@host:1"]}}},
        {"naive": {"endpoint": "judge", "model": "m", "extra": {"token": "sk-live-123"}}},
        {"serve": {"judge": {**SERVER, "env": {"HF_TOKEN": "sk-live-123"}}}},
        {"serve": {"judge": {**SERVER, "extra_args": ["--api-key", "sk-live-123"]}}},
        {"serve": {"judge": {**SERVER, "extra_args": ["--api-key=sk-live-123"]}}},
    ],
    ids=[
        "in place of a name",
        "beside it",
        "in a URL",
        "in the body",
        "in a server's environment",
        "in a server's arguments",
        "in a server's argument",
    ],
)
def test_a_secret_in_the_file_is_refused_and_not_shown(
    tmp_path: Path, change: Mapping[str, Any]
) -> None:
    with pytest.raises(DataError, match="environment variable") as error:
        load_engine(written(tmp_path, {**PLAIN, **change}))
    assert "sk-live-123" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [(b"[belief", "is no TOML"), (b"\xff", "is not UTF-8")],
    ids=["broken", "latin-1"],
)
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "engine.toml"
    path.write_bytes(text)
    with pytest.raises(DataError, match=message):
        load_engine(path)
    with pytest.raises(DataError, match="cannot be read"):
        load_engine(tmp_path / "nowhere.toml")


def test_what_answers_depend_on_is_told_without_addresses_or_secrets(tmp_path: Path) -> None:
    (tmp_path / "system.txt").write_text("Judge.")
    tables = {
        **PLAIN,
        "endpoints": {"judge": {"urls": [URL], "key_env": "MY_KEY"}},
        "belief": {**PLAIN["belief"], "system": {"tahoe": "system.txt"}, "revision": "v1"},
    }
    found = load_engine(written(tmp_path, tables)).identity()
    assert found["belief"]["system"] == {"expression": "Judge."}
    assert found["belief"]["revision"] == "v1"
    assert "8101" not in str(found)
    assert "MY_KEY" not in str(found)
    faster = {**tables, "endpoints": {"judge": {"urls": ["http://127.0.0.1:8102"], "tries": 9}}}
    assert load_engine(written(tmp_path, faster)).identity() == found


@pytest.mark.parametrize(
    ("policy", "slope"),
    [({}, 0.9), ({"policy": {"samples": 8}}, 0.9), ({"policy": {"slope": 0.5}}, 0.5)],
    ids=["no policy", "a policy", "a slope that stands there wins"],
)
def test_a_calibration_may_stand_in_a_file_beside(
    tmp_path: Path, policy: Mapping[str, Any], slope: float
) -> None:
    write_calibration(tmp_path / "mended.toml", CalibrationFit(0.8, -0.25, 0.9), "a test")
    tables = {**PLAIN, **policy, "calibration": {"file": "mended.toml"}}
    engine = load_engine(written(tmp_path, tables))
    assert engine.calibration == Calibration(slope=0.8, intercept=-0.25)
    assert engine.policy.slope == slope
    assert engine.policy.samples == policy.get("policy", {}).get("samples")
    # what answers depend on are the numbers, wherever they stand
    numbers = {"calibration": {"slope": 0.8, "intercept": -0.25}}
    said = {**PLAIN, **numbers, "policy": {**policy.get("policy", {}), "slope": slope}}
    assert load_engine(written(tmp_path, said)).identity() == engine.identity()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"calibration": {"file": "mended.toml", "slope": 2.0}}, "calibration has file and slope"),
        (
            {"calibration": {"file": "nowhere.toml"}},
            r"engine\.toml: calibration\.file cannot be used: .*nowhere\.toml: cannot be read",
        ),
        ({"calibration": {"file": "broken.toml"}}, r"broken\.toml: calibration.intercept is None"),
        ({"calibration": {"file": 3}}, "calibration.file is 3; give a text"),
        ({"calibration": {"file": ""}}, "calibration.file is empty; name a file"),
        ({"calibration": {"fiel": "mended.toml"}}, "calibration.fiel is no key here"),
        ({"calibration": {"file": "mended.toml"}, "policy": 3}, "policy is 3; give a table"),
    ],
    ids=["both", "not there", "broken", "no text", "empty", "misspelt", "no policy"],
)
def test_a_calibration_file_that_cannot_be_is_named(
    tmp_path: Path, change: Mapping[str, Any], message: str
) -> None:
    write_calibration(tmp_path / "mended.toml", CalibrationFit(0.8, -0.25, 0.9), "a test")
    (tmp_path / "broken.toml").write_text("[calibration]\nslope = 1.0\n")
    with pytest.raises(DataError, match=message):
        load_engine(written(tmp_path, {**change, **PLAIN}))


def test_the_documented_example_can_be_read_and_every_key_is_documented(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "engine.md").read_text()
    (tmp_path / "golden.jsonl").write_text("")
    path = tmp_path / "engine.toml"
    path.write_text(re.findall(r"```toml\n(.*?)```", text, re.DOTALL)[0])
    assert list(load_engine(path).parts()) == ["belief", "simulator", "naive"]
    documented = set(re.findall(r"`([a-z_]+)`", text))
    for kind in (*get_args(BeliefSettings), *get_args(SimulatorSettings), ChatSettings):
        assert {item.name for item in fields(kind)} <= documented
    for kind in (EndpointSettings, ServeSpec, PolicySettings, Calibration, CacheSettings):
        assert {item.name for item in fields(kind)} <= documented
