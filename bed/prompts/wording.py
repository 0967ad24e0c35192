"""What a domain says: the tables of its lines, and its part of the system prompt."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bed.errors import DataError
from bed.prompts.layout import Layout
from bed.prompts.lines import Line

__all__ = ["Claim", "Wording"]


@dataclass(frozen=True, eq=False)
class Claim:
    """A form that claims take, to read a printed one back; claims are printed as they stand.

    Attributes:
        line: template of the claim's opening.
        settings: the fields that it implies.
    """

    line: Line
    settings: Mapping[str, Any] = field(default_factory=dict)

    def read(self, text: str) -> dict[str, Any] | None:
        """Return the fields that a claim states, or None where it is not of this form.

        Args:
            text: the claim as printed.
        """
        try:
            told = self.line.read(text)
        except DataError:
            return None
        return None if told is None else {**self.settings, **told}


@dataclass(frozen=True, eq=False)
class Wording:
    """The printed language of a domain.

    Attributes:
        stubs: a layout for each kind of experiment.
        targets: a layout for each kind of target.
        claims: forms of claims, tried in order.
        role: first sentences of the system prompt.
        generated: how the evidence came about, a bullet each.
        claim_form: what a target hypothesis states, after "A TARGET HYPOTHESIS: ".
        support: when the hypothesis counts as supported.
        definitions_title: opens the definitions.
        definitions: of the printed quantities, a bullet each; may be empty.
        weigh: what a thinking model is asked to weigh; may be empty.
        defaults: fields that a missing value stands for.
        claim_label: stands before the claim.
        second_sentence: how a claim's second sentence starts, which has a line of its own.
    """

    stubs: tuple[Layout, ...]
    targets: tuple[Layout, ...]
    claims: tuple[Claim, ...]
    role: str
    generated: tuple[str, ...]
    claim_form: str
    support: str
    definitions_title: str = ""
    definitions: tuple[str, ...] = ()
    weigh: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    claim_label: str = ""
    second_sentence: str = ""
