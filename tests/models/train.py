"""Trains two tiny Qwen3 models on real episodes: a classifier and a chat model.

    python -m tests.models.train --episodes FILE --out FOLDER [--seed 0]

FOLDER gets `classifier` (p(theta = 1) from the last token, head `score.weight`) and `chat` (writes
simulated results and choices), 0.75M parameters each, as Hugging Face folders with their
tokenizer. A folder made from the same episodes, code and seed is kept as it is. The classifier
beats the base rate on episodes of held-out units, or nothing is kept.
"""

import argparse
import hashlib
import json
import math
import multiprocessing
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bed.episodes import read_episodes
from bed.evidence import Episode
from bed.seeds import derive_seed, generator
from bed.tokens import ChatTemplate
from tests.models.examples import Answered, choices, judged, judgements, simulations
from tests.models.tokenizer import CLOSING, make_tokenizer

__all__ = ["make_models"]

_SIZES: Final = {
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "intermediate_size": 512,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
    # the usual 0.02 is made for wide models: a narrow one would take long to start
    "initializer_range": 0.08,
}
_PER_EPISODE: Final = 3
_TEST_EPISODES: Final = 600
_WORKERS: Final = 2
_TOKENS_A_BATCH: Final = 3072
_RATE: Final = 2e-3
_SAMPLED: Final = 20
_TEST_STUBS: Final = (1, 3, 8, 16)
_MARK: Final = "made.json"

Rows = Sequence[Sequence[int]]
Floats = NDArray[np.float64]


def make_models(episodes: Path, out: Path, seed: int = 0) -> dict[str, Any]:
    """Train both models into `out`, unless they are there, and return the account of it.

    Args:
        episodes: as built by `bed episodes build`; its train and test splits are used.
        out: folder for both models.
        seed: everything random hangs on it.

    Raises:
        RuntimeError: where the classifier does not beat the base rate by three standard errors.
    """
    train = read_episodes(episodes, "train").episodes
    key = _key(episodes, train, seed)
    mark = out / _MARK
    if mark.is_file() and (account := json.loads(mark.read_text()))["key"] == key:
        return dict(account)
    shutil.rmtree(out, ignore_errors=True)
    started = time.monotonic()
    beliefs = list(judgements(train, _PER_EPISODE, seed))
    answers: list[Answered] = [*simulations(train, seed), *choices(train[::8], seed)]
    tokenizer = make_tokenizer(
        f"{prompt.system}\n{prompt.user}"
        for prompt in [each.prompt for of in (beliefs, answers) for each in of[::8]]
    )
    for name in ("classifier", "chat"):
        tokenizer.save_pretrained(out / name)
    template = ChatTemplate(str(out / "classifier"))
    asked = template.many([each.prompt for each in beliefs])
    labels = [each.label for each in beliefs]
    opened = template.many([each.prompt for each in answers])
    told = [tokenizer(each.answer + CLOSING).input_ids for each in answers]
    rows = (asked, labels, opened, told)
    with ProcessPoolExecutor(_WORKERS, multiprocessing.get_context("spawn")) as pool:
        running = [pool.submit(_train, *rows, out, seed, rank) for rank in range(_WORKERS)]
        size = next(each.result() for each in running)
    account = {"key": key, "seed": seed, "tokens": len(tokenizer), "examples": len(asked)}
    account["parameters"] = size
    account["mean_length"] = float(np.mean([len(row) for row in asked]))
    account["brier"] = _brier(out / "classifier", read_episodes(episodes, "test").episodes, seed)
    account["seconds"] = time.monotonic() - started
    mark.write_text(json.dumps(account, indent=1))
    return account


def _key(episodes: Path, train: Sequence[Episode], seed: int) -> str:
    """Return what tells one making from another: the data, what is learned, the code, the seed."""
    digest = hashlib.sha256(f"{seed}".encode())
    for path in (episodes, *sorted(Path(__file__).parent.glob("*.py"))):
        digest.update(path.read_bytes())
    # the wording of prompts may change where none of these does
    few = train[:_SAMPLED]
    for each in (*judgements(few, 1, seed), *simulations(few, seed), *choices(few, seed)):
        digest.update(repr(each).encode())
    return digest.hexdigest()


def _train(
    asked: Rows, labels: Sequence[int], opened: Rows, told: Rows, out: Path, seed: int, rank: int
) -> int:
    """Train both models together with the other workers; the first one saves them.

    Workers of one thread are faster than one of several, and give the same on any machine.
    """
    import torch
    from torch import distributed

    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    meeting = f"file://{out.resolve() / 'meeting'}"
    distributed.init_process_group("gloo", meeting, rank=rank, world_size=_WORKERS)
    trained = {
        "classifier": _trained_classifier(asked, labels, out / "classifier", seed),
        "chat": _trained_chat(opened, told, out / "chat", seed),
    }
    if rank == 0:
        for name, model in trained.items():
            model.save_pretrained(out / name)
    distributed.destroy_process_group()
    return int(trained["classifier"].num_parameters())


def _trained_classifier(asked: Rows, labels: Sequence[int], out: Path, seed: int) -> Any:
    """Fit the labels by the logit at each row's last token."""
    import torch
    from transformers import Qwen3ForSequenceClassification

    model = _new(Qwen3ForSequenceClassification, out, seed, num_labels=1)
    truth = torch.tensor(labels, dtype=torch.float32)

    def loss(rows: Sequence[int]) -> Any:
        logits = _logits(model, [asked[row] for row in rows])
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, truth[list(rows)])

    return _fitted("classifier", model, loss, [len(row) for row in asked], seed)


def _trained_chat(opened: Rows, told: Rows, out: Path, seed: int) -> Any:
    """Fit the tokens of each answer."""
    import torch
    from transformers import Qwen3ForCausalLM

    model = _new(Qwen3ForCausalLM, out, seed)
    whole = [[*before, *answer] for before, answer in zip(opened, told, strict=True)]

    def loss(rows: Sequence[int]) -> Any:
        hidden = model.model(input_ids=_padded([whole[row] for row in rows])).last_hidden_state
        # the token before each one of the answer foretells it
        places = [
            (i, len(opened[row]) - 1 + j, token)
            for i, row in enumerate(rows)
            for j, token in enumerate(told[row])
        ]
        where, when, token = torch.tensor(places).T
        return torch.nn.functional.cross_entropy(model.lm_head(hidden[where, when]), token)

    return _fitted("chat", model, loss, [len(row) for row in whole], seed)


def _new(kind: Any, tokenizer: Path, seed: int, **more: Any) -> Any:
    """Return a model with random weights for the tokenizer of a folder."""
    import torch
    from transformers import AutoTokenizer, Qwen3Config

    known = AutoTokenizer.from_pretrained(tokenizer)
    torch.manual_seed(derive_seed(seed, tokenizer.name))
    return kind(
        Qwen3Config(
            vocab_size=len(known),
            pad_token_id=known.pad_token_id,
            eos_token_id=known.eos_token_id,
            bos_token_id=None,
            **_SIZES,
            **more,
        )
    )


def _padded(rows: Rows) -> Any:
    """Return rows as one tensor. A causal model needs no mask for what is padded on the right."""
    import torch

    found = torch.zeros((len(rows), max(map(len, rows))), dtype=torch.long)
    for place, row in enumerate(rows):
        found[place, : len(row)] = torch.tensor(row)
    return found


def _logits(model: Any, rows: Rows) -> Any:
    """Return the head's value at the last token of each row."""
    import torch

    hidden = model.model(input_ids=_padded(rows)).last_hidden_state
    last = torch.tensor([len(row) - 1 for row in rows])
    return model.score(hidden[torch.arange(len(rows)), last]).squeeze(-1)


def _fitted(
    name: str,
    model: Any,
    loss: Callable[[Sequence[int]], Any],
    lengths: Sequence[int],
    seed: int,
) -> Any:
    """Pass once over all rows, in batches of like lengths, of which each worker takes a share."""
    import torch
    from torch import distributed

    rank = distributed.get_rank()
    batches = [rows for rows in _batches(lengths, seed) if len(rows) >= _WORKERS]
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, _RATE, total_steps=len(batches), pct_start=0.1
    )
    model.train()
    recent = []
    for number, rows in enumerate(batches, start=1):
        value = loss(rows[rank::_WORKERS])
        optimizer.zero_grad(set_to_none=True)
        value.backward()
        gradients = torch.cat([of.grad.ravel() for of in model.parameters()])
        distributed.all_reduce(gradients)
        gradients /= _WORKERS
        for of, mean in zip(
            model.parameters(),
            gradients.split([of.numel() for of in model.parameters()]),
            strict=True,
        ):
            of.grad = mean.view_as(of)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        recent.append(float(value.detach()))
        if rank == 0 and (number % 50 == 0 or number == len(batches)):
            loss_now = np.mean(recent[-50:])
            print(f"{name}: step {number} of {len(batches)}, loss {loss_now:.4f}", flush=True)
    return model.eval()


def _batches(lengths: Sequence[int], seed: int) -> Iterator[list[int]]:
    """Yield rows of about equal length, `_TOKENS_A_BATCH` tokens at a time, in random order."""
    rng = generator(seed, "batches")
    by_length = sorted(rng.permutation(len(lengths)).tolist(), key=lambda row: lengths[row])
    batches: list[list[int]] = [[]]
    for row in by_length:
        if batches[-1] and (len(batches[-1]) + 1) * lengths[row] > _TOKENS_A_BATCH:
            batches.append([])
        batches[-1].append(row)
    for place in rng.permutation(len(batches)):
        yield batches[place]


def _brier(model: Path, episodes: Sequence[Episode], seed: int) -> dict[str, dict[str, float]]:
    """Return the Brier score by number of stubs, against that of the base rate."""
    from transformers import AutoModelForSequenceClassification

    classifier = AutoModelForSequenceClassification.from_pretrained(model).eval()
    template = ChatTemplate(str(model))
    drawn = generator(seed, "test").permutation(len(episodes))[:_TEST_EPISODES]
    chosen = [episodes[i] for i in drawn]
    labels = np.array([episode.label for episode in chosen], float)
    base = (labels.mean() - labels) ** 2
    losses = []
    for count in _TEST_STUBS:
        asked = [judged(each.target, each.pool[:count], each.label) for each in chosen]
        p = _probabilities(classifier, template.many([each.prompt for each in asked]))
        losses.append((p - labels) ** 2)
    found = {
        str(count): _compared(loss, base) for count, loss in zip(_TEST_STUBS, losses, strict=True)
    }
    found["mean"] = _compared(np.mean(losses, axis=0), base)
    if found["mean"]["gain"] < 3 * found["mean"]["standard_error"]:
        raise RuntimeError(f"the classifier does not beat the base rate: {found}")
    return found


def _compared(loss: Floats, base: Floats) -> dict[str, float]:
    """Return mean losses and the gain, with the standard error of the paired difference."""
    return {
        "brier": float(loss.mean()),
        "base_rate": float(base.mean()),
        "gain": float((base - loss).mean()),
        "standard_error": float((base - loss).std(ddof=1) / math.sqrt(loss.size)),
    }


def _probabilities(model: Any, rows: Rows) -> Floats:
    import torch

    found = np.empty(len(rows))
    with torch.inference_mode():
        for batch in _batches([len(row) for row in rows], 0):
            found[batch] = torch.sigmoid(_logits(model, [rows[i] for i in batch])).numpy()
    return found


def main() -> None:
    """Run the module as a command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--episodes", type=Path, required=True, help="from bed episodes build")
    parser.add_argument("--out", type=Path, required=True, help="folder for both models")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    account = make_models(given.episodes, given.out, given.seed)
    print(f"{account['parameters']:,} parameters, {account['seconds']:.0f} s")
    for stubs, row in account["brier"].items():
        print(
            f"{stubs:>4} stubs: Brier {row['brier']:.4f}, base rate {row['base_rate']:.4f}, "
            f"better by {row['gain']:.4f} ± {row['standard_error']:.4f}"
        )


if __name__ == "__main__":
    main()
