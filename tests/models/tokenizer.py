"""A byte-level BPE of its own for the tiny models, with Qwen3's control tokens and template.

Digits and identifiers stand alone; what lies between them may merge across blanks, so that a
whole label, tag or phrase of a prompt becomes one token. A stub then takes about 45 tokens.
"""

from collections.abc import Iterable
from typing import Any, Final

__all__ = ["CLOSING", "make_tokenizer"]

CLOSING: Final = "<|im_end|>"
"""Ends a message."""

_SIZE: Final = 2000
_RARE: Final = 20
_CONTROL: Final = ("<|endoftext|>", "<|im_start|>", CLOSING)
_THINKING: Final = ("<think>", "</think>")
_PIECES: Final = r"\d|\n+|[A-Z][A-Z_]+"

# As Qwen3's own: thinking is switched off by an empty block at the start of the answer.
_TEMPLATE: Final = """\
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""


def make_tokenizer(texts: Iterable[str]) -> Any:
    """Return a fast tokenizer trained on `texts`, at most 2,000 tokens."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_SIZE - len(_CONTROL) - len(_THINKING),
        min_frequency=_RARE,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(texts, trainer)
    core.add_tokens([AddedToken(text, special=True, normalized=False) for text in _CONTROL])
    core.add_tokens([AddedToken(text, special=False, normalized=False) for text in _THINKING])
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token=CLOSING,
        pad_token="<|endoftext|>",
        chat_template=_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )
