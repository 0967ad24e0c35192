"""What each kind of experiment may hold, as strategies: for every domain and kind."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from bed.evidence import Experiment, Fields, Hypothesis, Outcome, Stub

Strategies = Mapping[str, st.SearchStrategy[Any]]

_NO_TEXT = ("NaN", "Infinity", "-Infinity")
TEXT = st.lists(
    st.sampled_from(
        [
            *"ab?:;,/—()[]&<> \n\t",
            *(" in ", " for ", " to ", ", ", " / ", "; ", " — ", " (family: ", ") — ", "type "),
            "TPM",
            "[2] x",
            "Result:",
            "TARGET HYPOTHESIS",
            "&#32;",
        ]
    ),
    min_size=1,
    max_size=6,
).map("".join) | st.text(min_size=1, max_size=8).filter(lambda text: text not in _NO_TEXT)
TEXTS = st.lists(TEXT, min_size=1, max_size=4).map(tuple)
COUNT = st.integers(0, 10**7)
REAL = st.floats(-1e6, 1e6).map(lambda x: x + 0.0)
SIZE = st.floats(0, 1e6)
SHARE = st.floats(0, 1)
ERROR = st.floats(0.001, 10)
P_VALUE = st.floats(1e-300, 1)


@dataclass(frozen=True, repr=False)
class Schema:
    """One kind of experiment; `settings` are its fixed fields."""

    domain: str
    settings: dict[str, Any]
    needed: Strategies
    optional: Strategies
    outcome: Strategies
    outcome_optional: Strategies = field(default_factory=dict)
    unprinted_in_target: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "-".join([self.domain, *map(str, self.settings.values())])

    @property
    def texts(self) -> list[str]:
        """Names of the experiment's fields that hold text."""
        both = {**self.needed, **self.optional}
        return [name for name, values in both.items() if values is TEXT]

    @property
    def outcome_texts(self) -> list[str]:
        both = {**self.outcome, **self.outcome_optional}
        return [name for name, values in both.items() if values is TEXT]

    def fields(self) -> st.SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries(dict(self.needed), optional=dict(self.optional)).map(
            lambda drawn: {**self.settings, **drawn}
        )

    def outcomes(self) -> st.SearchStrategy[Outcome]:
        drawn = st.fixed_dictionaries(dict(self.outcome), optional=dict(self.outcome_optional))
        return drawn.map(lambda fields: Outcome(Fields(consistent(fields))))


def consistent(drawn: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an outcome, those that follow from others brought into line with them."""
    fields = dict(drawn)
    if "wald" in fields:
        change = fields["log2_fold_change"]
        fields["wald"] = change / fields["lfc_se"] if "lfc_se" in fields else 2 * change
    if {"p_value", "p_adjusted"} <= fields.keys():
        fields["p_value"] *= fields["p_adjusted"]
    if {"num_significant", "num_tested"} <= fields.keys():
        fields["num_significant"] = round(fields["share_significant"] * fields["num_tested"])
    if fields.get("effect") in ("1.04", "12") and "direction" in fields:
        fields["direction"] = "increases"
    return fields


def target_of(schema: Schema, fields: Mapping[str, Any], text: str = "a claim") -> Hypothesis:
    return Hypothesis(text, schema.domain, Fields({k: v for k, v in fields.items() if k != "kind"}))


def stub_of(
    target: Hypothesis,
    schema: Schema,
    fields: Mapping[str, Any],
    outcome: Outcome,
    tag: str = "tag",
) -> Stub:
    stated = {"to": target.text, "tier": 1, "tag": tag}
    local = Hypothesis("a local claim", schema.domain, Fields(fields))
    return Stub(Experiment("x", local, fields=Fields(fields, stated_relation=stated)), outcome)


_DEPMAP = dict.fromkeys(("gene", "cell_line"), TEXT)
_DEPMAP_OPTIONAL = dict.fromkeys(
    ("gene_name", "gene_family", "depmap_id", "lineage", "disease", "subtype", "sex", "site"), TEXT
)


def _depmap(
    kind: str,
    outcome: Strategies,
    outcome_optional: Strategies | None = None,
    needed: Strategies | None = None,
    optional: Strategies | None = None,
) -> Schema:
    return Schema(
        "depmap",
        {"kind": kind},
        {**_DEPMAP, **(needed or {})},
        {**_DEPMAP_OPTIONAL, **(optional or {})},
        outcome,
        outcome_optional or {},
        ("top_quarter_from",),
    )


_BINS = st.sampled_from(["strong_dependency", "dependency", "weak_dependency"])
_STATUS = st.sampled_from(["damaging or driver mutation", "wild-type", "not reported"])
_AGENT = {
    **dict.fromkeys(("moa_broad", "moa_fine", "notes", "smiles"), TEXT),
    "targets": TEXTS,
    "human_approved": st.booleans(),
    "in_trials": st.booleans(),
    "pubchem_cid": COUNT,
}
_PLACE = dict.fromkeys(
    (
        "depmap_id",
        "cellosaurus_id",
        "organ",
        "driver_gene",
        "driver_variant_type",
        "driver_zygosity",
        "driver_effect",
        "driver_mechanism",
        "driver_gene_type",
    ),
    TEXT,
)
_RUN = {
    **dict.fromkeys(("plate", "dose", "time", "condition"), TEXT),
    "num_treated": COUNT,
    "num_control": COUNT,
}


_EXPRESSION_OUTCOMES: Mapping[str, tuple[Strategies, Strategies]] = {
    "differential": (
        {"log2_fold_change": REAL, "p_adjusted": P_VALUE},
        {"lfc_se": ERROR, "wald": REAL, "p_value": P_VALUE, "base_mean": SIZE},
    ),
    "zscore": ({"z": REAL}, {}),
    "summary": ({"share_significant": SHARE}, {"num_significant": COUNT, "num_tested": COUNT}),
}


def _expression(kind: str, agent: str, place: str) -> Schema:
    gene: Strategies = {} if kind == "summary" else {"gene": TEXT}
    more: Strategies = {"median_share": SHARE} if kind == "summary" else {"ensembl_id": TEXT}
    outcome, outcome_optional = _EXPRESSION_OUTCOMES[kind]
    return Schema(
        "expression",
        {"kind": kind, "perturbation_type": agent, "context_type": place},
        {"perturbation": TEXT, "context": TEXT, **gene},
        {**_AGENT, **_PLACE, **_RUN, **more},
        outcome,
        outcome_optional,
        (*_RUN, "median_share"),
    )


_GWAS = Schema(
    "gwas",
    {"kind": "association"},
    {"snp": TEXT, "trait": TEXT},
    {
        "chromosome": TEXT,
        "position": COUNT,
        "genes": TEXTS,
        "functional_class": TEXT,
        "pathways": TEXTS,
        "gtex": st.lists(
            st.tuples(TEXT, st.sampled_from(["23.8", "0.1", "107.0"])), min_size=1, max_size=3
        ).map(tuple),
        "study": TEXT,
        "ancestry": TEXT,
        "sample_size": COUNT,
        "platform": TEXT,
    },
    {"p_value": P_VALUE},
    {
        **dict.fromkeys(("interval", "risk_allele"), TEXT),
        "effect": st.sampled_from(["1.04", "0.021", "12", "3.0E-4"]),
        "risk_allele_frequency": st.sampled_from(["0.420", "0", ".05", "0.31 (EA)"]),
        "direction": st.sampled_from(["increases", "decreases"]),
    },
    ("study", "ancestry", "sample_size", "platform"),
)
_VALUES = TEXT | st.booleans() | st.integers(-(10**9), 10**9) | SHARE | TEXTS
_GENERIC = Schema(
    "generic",
    {},
    {},
    {"kind": TEXT, "description": TEXT, "Result": _VALUES, "dose: low": _VALUES, "note": TEXT},
    {},
    {"supported": st.booleans(), "result": TEXT, "Supported": _VALUES, "extra": TEXT},
)

SCHEMAS = (
    _depmap("knockout", {"chronos": REAL}, {"p_dependency": SHARE}),
    _depmap("knockout", {"effect_bin": _BINS}),
    _depmap("knockdown", {"chronos": REAL}, {"p_dependency": SHARE}),
    _depmap("expression", {"log2_tpm": SIZE}, optional={"top_quarter_from": REAL}),
    _depmap("copy_number", {"relative_copy_number": SIZE}),
    _depmap("mutation", {"status": _STATUS}),
    _depmap("drug", {"sensitive": st.booleans()}, {"auc": SHARE}, needed={"drug": TEXT}),
    _GWAS,
    *(
        _expression(kind, agent, place)
        for kind in ("differential", "zscore", "summary")
        for agent, place in (("drug", "cell line"), ("knockout", "system"))
    ),
    _expression("differential", "drug", "system"),
    _GENERIC,
)
