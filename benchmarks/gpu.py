"""What a card gives a belief model of the published shape, and what reusing a prefix saves.

A round of scoring asks for the belief after each of many candidates: prompts that share their
beginning (system prompt and evidence) and differ at the end. The model has the shape of
Qwen3-30B-A3B with random weights and a linear head, and answers in process. Two ways are timed,
interleaved: every prompt whole, and the shared prefix once with only the ends behind its cache.
Their logits must agree. Beside the candidates a second stands the share of what the card could do:
its own rate in a large matrix product, over the operations that each candidate needs.

    python -m benchmarks.gpu [--layers 48] [--prefix 4096] [--ends 256] [--candidates 16]
    python -m benchmarks.gpu --device cpu --tiny        # a smoke run without a card

Needs the extra `transformers`. 48 layers take about 61 GB in bfloat16; a smaller card takes fewer
layers, and the figures hold for the layers that were run.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from bed.errors import DataError

PUBLISHED = {
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 768,
    "vocab_size": 151936,
}
TINY = {
    "hidden_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 64,
    "vocab_size": 512,
}
AGREE = 0.05
"""Logits in bfloat16 may differ by this much between the two ways, in units of their spread."""


@dataclass(frozen=True)
class Figures:
    """What one run measured.

    Attributes:
        device: the card, by its own name.
        num_layers: of the model that was run.
        product_tflops: of a large matrix product in the same precision.
        whole_per_s: candidates a second, every prompt whole.
        reused_per_s: candidates a second, the prefix once.
        whole_share: of the product's rate that `whole_per_s` needs, 0 to 1.
        reused_share: likewise.
        saved: how many times fewer operations the prefix once takes.
        gained: `reused_per_s` over `whole_per_s`.
        spread: largest difference of logits between the two ways, over their standard deviation.
        peak_gb: largest memory held.
    """

    device: str
    num_layers: int
    product_tflops: float
    whole_per_s: float
    reused_per_s: float
    whole_share: float
    reused_share: float
    saved: float
    gained: float
    spread: float
    peak_gb: float


def built(torch: Any, shape: dict[str, int], num_layers: int, device: str, dtype: Any) -> Any:
    """Return the model with random weights, made where it will run."""
    from transformers import Qwen3MoeConfig, Qwen3MoeModel

    config = Qwen3MoeConfig(
        **shape,
        num_hidden_layers=num_layers,
        norm_topk_prob=True,
        max_position_embeddings=40960,
    )
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            model = Qwen3MoeModel(config)
    finally:
        torch.set_default_dtype(before)
    return model.eval()


def operations(shape: dict[str, int], num_layers: int, start: int, num_tokens: int) -> float:
    """Return the floating-point operations of `num_tokens` tokens behind `start` cached ones.

    Two for each weight that a token meets, and four for each pair of a query's and a key's
    component (scores, and the weighted sum).
    """
    heads, head = shape["num_attention_heads"], shape["head_dim"]
    attention = shape["hidden_size"] * head * (2 * heads + 2 * shape["num_key_value_heads"])
    experts = 3 * shape["num_experts_per_tok"] * shape["hidden_size"]
    experts *= shape["moe_intermediate_size"]
    router = shape["hidden_size"] * shape["num_experts"]
    pairs = num_tokens * start + num_tokens * (num_tokens + 1) / 2
    weights = 2.0 * num_tokens * (attention + experts + router)
    return num_layers * (weights + 4.0 * heads * head * pairs)


def timed(torch: Any, device: str, run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that a run took, and what it returned."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    wait()
    start = time.perf_counter()
    found = run()
    wait()
    return time.perf_counter() - start, found


def product_tflops(torch: Any, device: str, dtype: Any, size: int) -> float:
    """Return the rate of a square matrix product: the median of ten, after a warm-up."""
    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    seconds = [timed(torch, device, lambda: left @ right)[0] for _ in range(13)][3:]
    return 2.0 * size**3 / statistics.median(seconds) / 1e12


def measured(options: argparse.Namespace) -> Figures:
    """Run both ways in turn and return the figures."""
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        raise DataError(
            f"this benchmark needs {error.name}: pip install 'bed-engine[transformers]'"
        ) from error
    device = options.device
    if device == "cuda" and not torch.cuda.is_available():
        raise DataError("no CUDA card answers here; --device cpu --tiny runs a smoke test")
    torch.manual_seed(options.seed)
    shape = TINY if options.tiny else PUBLISHED
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    model = built(torch, shape, options.layers, device, dtype)
    head = torch.randn(shape["hidden_size"], device=device, dtype=dtype)
    head /= shape["hidden_size"] ** 0.5
    count, prefix, ends = options.candidates, options.prefix, options.ends
    shared = torch.randint(0, shape["vocab_size"], (1, prefix), device=device)
    after = torch.randint(0, shape["vocab_size"], (count, ends), device=device)

    def logits(states: Any) -> Any:
        return (states.last_hidden_state[:, -1] @ head).float()

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def whole() -> Any:
        rows = torch.cat([shared.expand(count, -1), after], dim=1)
        parts = rows.split(options.at_once)
        return torch.cat([logits(model(input_ids=part, use_cache=False)) for part in parts])

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def reused() -> Any:
        cache = model(input_ids=shared, use_cache=True).past_key_values
        cache.batch_repeat_interleave(count)
        return logits(model(input_ids=after, past_key_values=cache, use_cache=True))

    ways = {"whole": whole, "reused": reused}
    for run in ways.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    answers = {}
    for _ in range(options.repeats):
        for name, run in ways.items():
            took, answers[name] = timed(torch, device, run)
            seconds[name].append(took)
    rate = product_tflops(torch, device, dtype, 8192 if device == "cuda" else 512)
    per_s = {name: count / statistics.median(took) for name, took in seconds.items()}
    of_prefix = operations(shape, options.layers, 0, prefix)
    of_ends = operations(shape, options.layers, prefix, ends)
    needs = {"whole": of_prefix + of_ends, "reused": of_prefix / count + of_ends}
    apart = (answers["whole"] - answers["reused"]).abs().max() / answers["whole"].std()
    return Figures(
        device=torch.cuda.get_device_name() if device == "cuda" else "CPU",
        num_layers=options.layers,
        product_tflops=rate,
        whole_per_s=per_s["whole"],
        reused_per_s=per_s["reused"],
        whole_share=per_s["whole"] * needs["whole"] / (rate * 1e12),
        reused_share=per_s["reused"] * needs["reused"] / (rate * 1e12),
        saved=needs["whole"] / needs["reused"],
        gained=per_s["reused"] / per_s["whole"],
        spread=float(apart),
        peak_gb=torch.cuda.max_memory_allocated() / 1e9 if device == "cuda" else float("nan"),
    )


def show(console: Console, found: Figures, options: argparse.Namespace) -> None:
    """Print the table, and whether the two ways agree."""
    table = Table(
        title=f"{found.device}, {found.num_layers} layers: {options.candidates} candidates, "
        f"{options.prefix} shared tokens and {options.ends} of each one's own",
        title_justify="left",
    )
    for column in ("prompts", "candidates/s", "of the matrix product's rate"):
        table.add_column(column, justify="left" if column == "prompts" else "right")
    table.add_row("whole", f"{found.whole_per_s:.2f}", f"{100 * found.whole_share:.0f}%")
    table.add_row("prefix once", f"{found.reused_per_s:.2f}", f"{100 * found.reused_share:.0f}%")
    console.print(table)
    console.print(
        f"Matrix product: {found.product_tflops:.1f} TFLOPS. The prefix once takes "
        f"{found.saved:.1f} times fewer operations and is {found.gained:.1f} times as fast. "
        f"Largest difference of logits: {found.spread:.3f} standard deviations. "
        f"Memory: {found.peak_gb:.1f} GB."
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--tiny", action="store_true", help="a small shape, for a smoke run")
    parser.add_argument("--layers", type=int, help="of the model (default 48; tiny 2)")
    parser.add_argument("--prefix", type=int, default=4096, help="tokens that all prompts share")
    parser.add_argument("--ends", type=int, default=256, help="tokens of each prompt's own")
    parser.add_argument("--candidates", type=int, default=16)
    parser.add_argument("--at-once", type=int, default=4, help="whole prompts in one pass")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    options = parser.parse_args()
    for name in ("prefix", "ends", "candidates", "at_once", "repeats"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} is {getattr(options, name)}; at least 1")
    options.layers = options.layers or (2 if options.tiny else 48)
    try:
        found = measured(options)
    except DataError as error:
        raise SystemExit(str(error)) from error
    if options.json:
        print(json.dumps({name: None if v != v else v for name, v in asdict(found).items()}))
    else:
        show(Console(width=110), found, options)
    if found.spread > AGREE:
        raise SystemExit(
            f"the two ways differ by {found.spread:.3f} standard deviations, more than {AGREE}"
        )


if __name__ == "__main__":
    main()
