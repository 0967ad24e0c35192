"""A classifier in this process: a small random Qwen3 with a head, saved and loaded."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bed.belief import TransformersBelief
from bed.belief.asking import asked
from bed.errors import DataError
from bed.information import probability
from bed.protocols import BeliefModel, BeliefQuery
from bed.tokens import ChatTemplate
from tests.doubles import template
from tests.factories import TARGET, chronos, dependency, flag, knockout, plain

torch: Any = pytest.importorskip("torch", reason="needs the extra transformers: make test-vllm")

LONGEST = 4096
EVIDENCE = tuple(chronos(knockout("G", f"N{i}"), -0.3 * i) for i in range(4))
QUERIES = [BeliefQuery(dependency("G", "HOME"), EVIDENCE[:k]) for k in range(5)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import AutoTokenizer, Qwen3Config, Qwen3ForSequenceClassification

    tokenizer = AutoTokenizer.from_pretrained(template().tokenizer)
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=LONGEST,
        num_labels=1,
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=0.3,
    )
    path = tmp_path_factory.mktemp("model")
    Qwen3ForSequenceClassification(config).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def belief(folder: Path, **settings: Any) -> TransformersBelief:
    short = {"depmap": "Judge.", "generic": "Judge."}
    return TransformersBelief(str(folder), ChatTemplate(str(folder)), systems=short, **settings)


def test_it_answers_as_the_model_does_one_prompt_at_a_time(folder: Path) -> None:
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    of = belief(folder)
    assert isinstance(of, BeliefModel)
    found = of.probabilities(QUERIES)
    alone = {}
    for prompt, _ in asked(QUERIES, of.systems).prompts:
        ids = torch.tensor([of.template.ids(prompt)])
        with torch.inference_mode():
            alone[prompt.user] = float(probability(model(input_ids=ids).logits[0, 0].item()))
    expected = [alone[asked([query], of.systems).prompts[0][0].user] for query in QUERIES]
    assert found.probabilities == pytest.approx(expected, abs=1e-5)
    assert len(set(found.probabilities)) == len(QUERIES)
    assert found.reasons == (None,) * len(QUERIES)


def test_a_batch_is_many_single_ones(folder: Path) -> None:
    whole = belief(folder, batch_size=8).probabilities(QUERIES).probabilities
    single = belief(folder, batch_size=1).probabilities(QUERIES[::-1]).probabilities[::-1]
    assert whole == pytest.approx(single, abs=1e-5)


def test_a_prompt_too_long_fails_alone(folder: Path) -> None:
    long = BeliefQuery(TARGET, (flag(plain(0, description="word " * LONGEST), True),))
    found = belief(folder).probabilities([QUERIES[0], long, QUERIES[1]])
    assert [reason is None for reason in found.reasons] == [True, False, True]
    assert f"takes {LONGEST}" in str(found.reasons[1])
    assert np.isnan(found.probabilities[1])


def test_nothing_asked_loads_nothing(tmp_path: Path) -> None:
    of = TransformersBelief(str(tmp_path), ChatTemplate(str(tmp_path)))
    assert of.probabilities([]).probabilities.shape == (0,)


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    of = TransformersBelief(str(tmp_path), template())
    with pytest.raises(DataError, match="no model at"):
        of.logits([[1, 2]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"batch_size": 0}, "batch_size is 0"), ({"dtype": "int8"}, "dtype is 'int8'")],
    ids=str,
)
def test_settings_that_cannot_work_are_refused(
    folder: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        belief(folder, **settings)
