"""Contrasts: a perturbation against its control, in one context and under one condition."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["Contrast", "contrasts_of"]

_NUMBER = re.compile(r"^[-+]?\d*\.?\d+(e[-+]?\d+)?$", re.IGNORECASE)
_ROLES = (("dose", r"dose|conc"), ("time", r"time|^days?$|^hours?$"), ("plate", r"^plate$"))
_SEPARATORS = re.compile(r"\s*[+,;/&|]\s*")


@dataclass(frozen=True, order=True, slots=True)
class Contrast:
    """What was compared.

    Attributes:
        perturbation: the drug, or the gene knocked out.
        context: the cell line or system.
        condition: (column, text) pairs that tell siblings apart, blanks left out.
        num_treated: cells or samples of the perturbed arm; None where not told.
        num_control: the same of the control arm.
    """

    perturbation: str
    context: str
    condition: tuple[tuple[str, str], ...] = ()
    num_treated: int | None = field(default=None, compare=False)
    num_control: int | None = field(default=None, compare=False)

    @property
    def place(self) -> tuple[str, str]:
        """Perturbation and context; contrasts of one place are siblings."""
        return self.perturbation, self.context

    @property
    def name(self) -> str:
        """Perturbation, context and condition in one word."""
        return ":".join([*self.place, *(text for _, text in self.condition)])

    def perturbed(self) -> list[str]:
        """Return what the perturbation names: one gene, or several joined by a sign such as +."""
        return _SEPARATORS.split(self.perturbation)

    def condition_fields(self) -> dict[str, str]:
        """Return the dose, the time, the plate and the rest of the condition, as far as told."""
        found: dict[str, list[str]] = {}
        for column, text in self.condition:
            told = f"{column} {text}" if _NUMBER.match(text) else text
            found.setdefault(_role(column), []).append(told)
        return {role: ", ".join(told) for role, told in found.items()}

    def arm_sizes(self) -> dict[str, int]:
        """Return the sizes of the two arms, as far as told."""
        sizes = {"num_treated": self.num_treated, "num_control": self.num_control}
        return {name: num for name, num in sizes.items() if num is not None}


def _role(column: str) -> str:
    matching = (role for role, pattern in _ROLES if re.search(pattern, column, re.IGNORECASE))
    return next(matching, "condition")


def contrasts_of(
    perturbation: NDArray[np.object_],
    context: NDArray[np.object_],
    condition: Mapping[str, NDArray[np.object_]],
) -> tuple[tuple[Contrast, ...], NDArray[np.int64]]:
    """Return the distinct contrasts, sorted, and which one each row belongs to.

    Args:
        perturbation: one text a row.
        context: one text a row.
        condition: column -> one text a row, "" where it does not apply.
    """
    frame = pd.DataFrame({"p": perturbation, "c": context})
    for i, cells in enumerate(condition.values()):
        frame[f"condition {i}"] = cells
    group = frame.groupby(list(frame.columns), sort=True).ngroup().to_numpy()
    firsts = frame.iloc[np.unique(group, return_index=True)[1]]
    found = [
        Contrast(
            agent, place, tuple((name, t) for name, t in zip(condition, told, strict=True) if t)
        )
        for agent, place, *told in firsts.itertuples(index=False)
    ]
    order = sorted(range(len(found)), key=lambda i: found[i])
    rank = np.empty(len(found), dtype=np.int64)
    rank[order] = np.arange(len(found))
    return tuple(found[i] for i in order), rank[group]
