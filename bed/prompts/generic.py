"""How free-text hypotheses and experiments are printed: their sentences, then field by field."""

from bed.prompts.forms import ANY, YES_NO
from bed.prompts.layout import Layout, Rest
from bed.prompts.lines import Line
from bed.prompts.wording import Wording

__all__ = ["TESTS", "WORDING"]

TESTS = "local_hypothesis"
"""Under this name the sentence of an experiment's own hypothesis is printed and read back."""

_LABELS = frozenset(
    {"hypothesis", "tests", "kind", "description", "result", "reported", "supported"}
)
# the tier and a stated relation are told by the tag beside the number
_UNPRINTED = frozenset({TESTS, "kind", "description", "tier", "stated_relation"})

_FORMS = {"kind": ANY, "description": ANY, "result": ANY, "supported": YES_NO}

_STUB = Layout(
    (
        Line("Tests: {local_hypothesis}"),
        Line("Kind: {kind}", _FORMS),
        Line("Description: {description}", _FORMS),
        Rest(_UNPRINTED, _LABELS),
        Line("Result:", is_outcome=True),
        Line("Reported: {result}", _FORMS, is_outcome=True, level=1),
        Line("Supported: {supported}", _FORMS, is_outcome=True, level=1),
        Rest(frozenset({"result", "supported"}), _LABELS, is_outcome=True, level=1),
    ),
    needs=(TESTS,),
)

WORDING = Wording(
    stubs=(_STUB,),
    targets=(Layout((Rest(frozenset(), _LABELS),)),),
    claims=(),
    claim_label="Hypothesis: ",
    role=(
        "You are an expert scientist. You judge from limited evidence whether a hypothesis is true."
    ),
    generated=(
        "Each numbered item is one experiment with its result. The line beside the number says how "
        "relevant it is to the target hypothesis; tier 1 is the most relevant.",
        '"Tests" is the hypothesis that the experiment itself tests, and "Supported" whether its '
        "result supported that one.",
        "The result that decides the target hypothesis is held out; it is not among the items.",
    ),
    claim_form="a statement that is either true or not",
    support=(
        "The hypothesis counts as supported if a decisive test of it would come out in its favour, "
        "and as not supported otherwise."
    ),
)
