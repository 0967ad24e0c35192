"""What a served language model says: log probabilities and stated beliefs, as vLLM answers them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bed.belief import LogprobBelief, VerbalBelief
from bed.chat import Chat
from bed.episodes import EpisodeFile
from bed.protocols import BeliefQuery
from bed.tokens import ChatTemplate
from bed.transport import HttpTransport
from tests.served.conftest import BELIEF

# the first two are single tokens of no language model in particular, the others are not
YES, NO = ("1", "Yes", "yes"), ("0", "No", "no")


def queries(split: EpisodeFile, count: int) -> list[BeliefQuery]:
    return [
        BeliefQuery(episode.target, episode.pool[: number % 4], seed=number)
        for number, episode in enumerate(split.episodes[:count])
    ]


def in_process(folder: Path, asked: Sequence[Sequence[int]], forms: Sequence[Any]) -> Any:
    """Joint log probability of each form after each prompt, by transformers."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    found = np.empty((len(asked), len(forms)))
    for i, ids in enumerate(asked):
        for j, form in enumerate(forms):
            with torch.inference_mode():
                logits = model(input_ids=torch.tensor([[*ids, *form]])).logits[0]
            each = torch.log_softmax(logits.double(), dim=-1)
            places = range(len(ids) - 1, len(ids) + len(form) - 1)
            found[i, j] = sum(float(each[p, t]) for p, t in zip(places, form, strict=True))
    return found


def test_log_probabilities_are_those_of_the_model(
    chat: Chat, models: Path, template: ChatTemplate, test_split: EpisodeFile
) -> None:
    sent: list[Sequence[int]] = []

    class Overheard:
        def many(self, prompts: Sequence[Any]) -> list[list[int]]:
            found = template.many(prompts)
            sent.extend(found)
            return found

        continuation = staticmethod(template.continuation)

    overheard: Any = Overheard()
    belief = LogprobBelief(chat.transport, overheard, "chat", yes=YES, no=NO, top=5, systems=BELIEF)
    asked = queries(test_split, 6)
    found = belief.probabilities(asked)
    assert found.reasons == (None,) * len(asked)
    forms = [template.continuation(form) for form in (*YES, *NO)]
    assert max(map(len, forms)) > 1
    joint = np.exp(in_process(models / "chat", sent, forms))
    expected = joint[:, : len(YES)].sum(axis=1) / joint.sum(axis=1)
    # each prompt travels once, in an order of its own
    np.testing.assert_allclose(np.sort(found.probabilities), np.sort(expected), atol=1e-4)


def test_stated_beliefs_keep_their_form_and_their_seed(chat: Chat, test_split: EpisodeFile) -> None:
    asked = queries(test_split, 8)
    belief = VerbalBelief(chat, draws=3, systems=BELIEF)
    first, again = belief.probabilities(asked), belief.probabilities(asked[::-1])
    assert first.reasons == (None,) * len(asked)
    assert first.noise is not None
    assert (first.noise > 0).any()
    np.testing.assert_array_equal(first.probabilities, again.probabilities[::-1])


def test_a_model_that_is_not_served_is_a_clear_reason(chat: Chat, test_split: EpisodeFile) -> None:
    assert isinstance(chat.transport, HttpTransport)
    (reason,) = (
        VerbalBelief(Chat(chat.transport, "nope")).probabilities(queries(test_split, 1)).reasons
    )
    assert "does not exist" in str(reason)
    assert "check the URL and the model's name" in str(reason)
