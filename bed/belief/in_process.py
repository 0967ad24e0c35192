"""A language model with a scalar head in this process, for one machine or a notebook."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bed.belief.asking import Systems, asked, encoded_each
from bed.errors import DataError
from bed.information import probability
from bed.protocols import BeliefQuery, Beliefs
from bed.tokens import ChatTemplate
from bed.transport import Failure

__all__ = ["TransformersBelief"]

_DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class TransformersBelief:
    """Runs a sequence classifier by transformers, with the prompts of `ClassifierBelief`.

    Attributes:
        model: name on the hub, or a folder.
        template: makes the token ids.
        device: such as "cuda" or "cpu"; a GPU where there is one by default.
        batch_size: prompts of one pass.
        dtype: "float32", "bfloat16" or "float16".
        thinking: whether the prompts ask for reasoning first.
        systems: domain -> system prompt instead of bed's own.
    """

    model: str
    template: ChatTemplate
    device: str | None = None
    batch_size: int = 16
    dtype: str = "float32"
    thinking: bool = False
    systems: Systems = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise DataError(f"batch_size is {self.batch_size}; it must be at least 1")
        if self.dtype not in _DTYPES:
            raise DataError(f"dtype is {self.dtype!r}; use one of {', '.join(_DTYPES)}")

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer every query; one whose prompt cannot be made or read fails alone."""
        found = asked(queries, self.systems, self.thinking)
        encoded = encoded_each(self.template, [prompt for prompt, _ in found.prompts])
        fitting = [ids if isinstance(ids, Failure) else self._fitting(ids) for ids in encoded]
        logits = iter(self.logits([ids for ids in fitting if not isinstance(ids, Failure)]))
        return found.beliefs(
            [ids if isinstance(ids, Failure) else self._belief(next(logits)) for ids in fitting]
        )

    def logits(self, ids: Sequence[Sequence[int]]) -> np.ndarray:
        """Return the logit of theta = 1 for every prompt, shape (num_prompts,).

        Prompts of a like length run together, padded on the right and masked.

        Args:
            ids: token ids of each prompt, within the model's context and vocabulary, the last
                one no padding token.

        Raises:
            DataError: for a model that cannot be loaded, or whose head is not in its files.
        """
        if not ids:
            return np.zeros(0)
        model, device = self._loaded
        import torch

        found = np.zeros(len(ids))
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        for start in range(0, len(order), self.batch_size):
            rows = order[start : start + self.batch_size]
            longest = max(len(ids[i]) for i in rows)
            # the model reads the last token that is no padding token; see _fitting
            padded = torch.full((len(rows), longest), model.config.pad_token_id, device=device)
            mask = torch.zeros_like(padded)
            for row, i in enumerate(rows):
                padded[row, : len(ids[i])] = torch.tensor(ids[i], device=device)
                mask[row, : len(ids[i])] = 1
            with torch.inference_mode():
                out = model(input_ids=padded, attention_mask=mask).logits.double().cpu().numpy()
            found[rows] = out[:, -1] - out[:, 0] if out.shape[1] == 2 else out[:, 0]
        return found

    def _fitting(self, ids: list[int]) -> list[int] | Failure:
        model, _ = self._loaded
        most = int(model.config.max_position_embeddings)
        if len(ids) > most:
            return Failure(f"the prompt has {len(ids)} tokens; {self.model} takes {most}")
        if max(ids) >= (known := model.get_input_embeddings().num_embeddings):
            return Failure(
                f"the prompt holds token {max(ids)}, but {self.model} knows {known}; "
                f"{self.template.tokenizer} is another model's tokenizer"
            )
        if ids[-1] == model.config.pad_token_id:
            return Failure(
                f"the prompt ends in token {ids[-1]}, which {self.model} pads with and does not "
                "read; name another pad_token_id in its config.json"
            )
        return ids

    def _belief(self, logit: float) -> float | Failure:
        if not math.isfinite(logit):
            return Failure(f"{self.model} gives the logit {logit} in {self.dtype}; try float32")
        return float(probability(logit))

    @cached_property
    def _loaded(self) -> tuple[Any, str]:
        """The model, and the device that it is on."""
        try:
            import torch
            from safetensors import SafetensorError
            from transformers import AutoModelForSequenceClassification
        except ImportError as error:
            raise DataError(
                f"a model in process needs {error.name}: pip install 'bed-engine[transformers]'"
            ) from error
        device = self.device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            model, info = AutoModelForSequenceClassification.from_pretrained(
                self.model,
                revision=self.template.revision,
                dtype=getattr(torch, self.dtype),
                output_loading_info=True,
            )
        except (OSError, ValueError, RuntimeError, SafetensorError) as error:
            raise DataError(f"no model at {self.model!r}: {error}") from error
        if missing := sorted(info["missing_keys"]):
            # transformers fills them with random numbers and goes on
            raise DataError(
                f"the files of {self.model} lack {', '.join(missing[:3])}, so it would answer at "
                "random; a classifier's head is called score.weight"
            )
        if model.num_labels not in (1, 2):
            raise DataError(
                f"{self.model} has {model.num_labels} labels; a belief needs a head of one or two"
            )
        if model.config.pad_token_id is None:
            raise DataError(f"{self.model} names no pad_token_id in its config.json; add it")
        return model.eval().to(device), device
