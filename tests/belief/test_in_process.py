"""A classifier in this process: a small random Qwen3 with a head, saved and loaded."""

import sys
from dataclasses import replace
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


def saved(folder: Path, source: Path, kind: Any, **settings: Any) -> Path:
    """A model of `source`'s shape with other settings, beside its tokenizer."""
    from transformers import AutoTokenizer, Qwen3Config

    config = Qwen3Config.from_pretrained(source, **settings)
    kind(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(source).save_pretrained(folder)
    return folder


def test_a_head_that_the_files_lack_is_never_made_up(folder: Path, tmp_path: Path) -> None:
    from transformers import Qwen3ForCausalLM

    with pytest.raises(DataError, match=r"lack score\.weight, so it would answer at random"):
        belief(saved(tmp_path, folder, Qwen3ForCausalLM)).probabilities(QUERIES)


def test_two_labels_give_the_difference_of_their_logits(folder: Path, tmp_path: Path) -> None:
    from transformers import Qwen3ForSequenceClassification

    of = belief(saved(tmp_path, folder, Qwen3ForSequenceClassification, num_labels=2))
    (p,) = of.probabilities(QUERIES[:1]).probabilities
    prompt, _ = asked(QUERIES[:1], of.systems).prompts[0]
    model = Qwen3ForSequenceClassification.from_pretrained(tmp_path).eval()
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([of.template.ids(prompt)])).logits[0]
    assert p == pytest.approx(torch.softmax(logits, 0)[1].item(), abs=1e-5)


def test_more_than_two_labels_are_refused(folder: Path, tmp_path: Path) -> None:
    from transformers import Qwen3ForSequenceClassification

    of = belief(saved(tmp_path, folder, Qwen3ForSequenceClassification, num_labels=3))
    with pytest.raises(DataError, match="has 3 labels"):
        of.probabilities(QUERIES)


@pytest.mark.parametrize("content", [b"junk", b""], ids=["junk", "empty"])
def test_weights_that_cannot_be_read_are_named(
    folder: Path, tmp_path: Path, content: bytes
) -> None:
    from transformers import Qwen3ForSequenceClassification

    saved(tmp_path, folder, Qwen3ForSequenceClassification)
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(DataError, match="no model at"):
        belief(tmp_path).probabilities(QUERIES)


def test_the_tokenizer_of_a_larger_model_is_a_reason(folder: Path, tmp_path: Path) -> None:
    from transformers import Qwen3ForSequenceClassification

    of = belief(
        saved(tmp_path, folder, Qwen3ForSequenceClassification, vocab_size=200, pad_token_id=0)
    )
    assert all("another model's tokenizer" in str(r) for r in of.probabilities(QUERIES).reasons)


def test_a_prompt_that_ends_in_the_padding_is_a_reason(folder: Path, tmp_path: Path) -> None:
    """The model would read the token before it."""
    from transformers import Qwen3ForSequenceClassification

    last = template().continuation("\n")[-1]
    made = saved(tmp_path, folder, Qwen3ForSequenceClassification, pad_token_id=last)
    of = replace(belief(made), template=ChatTemplate(str(made), generation_prompt=False))
    assert all("pads with" in str(reason) for reason in of.probabilities(QUERIES).reasons)


def test_a_logit_that_is_no_number_fails_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = np.array([0.0, np.nan, np.inf, 1.0, 2.0])
    monkeypatch.setattr(TransformersBelief, "logits", lambda self, ids: found)
    reasons = belief(folder).probabilities(QUERIES).reasons
    assert sum("try float32" in str(reason) for reason in reasons) == 2
    assert sum(reason is None for reason in reasons) == 3


def test_a_missing_package_is_named_with_its_extra(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(DataError, match=r"needs torch: pip install 'bed-engine\[transformers\]'"):
        belief(folder).logits([[1, 2]])


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
