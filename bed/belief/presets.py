"""The released models by name, as tables of an engine file. Every key can be overridden there.

The hub was not reached when this was written: names and branches are the paper's. The classifier
has a branch `main` and branches `holdout-DOMAIN`, trained without that domain.
"""

from collections.abc import Mapping
from typing import Any

__all__ = ["DATASET", "DATASET_VERSION", "PRESETS"]

_FAMILY = "EdisonScientific/Ibis0-30B-A3B"

PRESETS: Mapping[str, Mapping[str, Any]] = {
    f"{_FAMILY}-Classifier": {
        "kind": "classifier",
        "model": f"{_FAMILY}-Classifier",
        "revision": "main",
        "thinking": False,
    },
    f"{_FAMILY}-NonThinking": {
        "kind": "verbal",
        "model": f"{_FAMILY}-NonThinking",
        "thinking": False,
        "max_tokens": 32,
    },
    f"{_FAMILY}-Thinking": {
        "kind": "verbal",
        "model": f"{_FAMILY}-Thinking",
        "thinking": True,
        "max_tokens": 8192,
    },
    "EdisonScientific/Ibis0-BED-Simulator": {
        "kind": "generative",
        "model": "EdisonScientific/Ibis0-BED-Simulator",
    },
}
"""Released name -> the keys of [belief] or [simulator]."""

DATASET = "EdisonScientific/EDB-Bio"
DATASET_VERSION = "v1.0.0"
