"""What vLLM's own counters say about its prefix cache."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from bed.transport.values import Reply

__all__ = ["PrefixTokens", "prefix_tokens"]


class PrefixTokens(NamedTuple):
    """Tokens of prompts that were looked up in the prefix caches of servers, and found there."""

    queries: float = 0.0
    hits: float = 0.0

    def share_since(self, before: "PrefixTokens") -> float | None:
        """Return the share found since an earlier count; None where nothing was looked up.

        Args:
            before: of the same servers. A server that was started anew counts from 0, and the
                share is then not known.
        """
        queries, hits = self.queries - before.queries, self.hits - before.hits
        return hits / queries if queries > 0 and 0 <= hits <= queries else None


def prefix_tokens(replies: Iterable[Reply]) -> PrefixTokens:
    """Return the sums over servers; those that count nothing are left out.

    Args:
        replies: to GET /metrics.
    """
    texts = [reply.body for reply in replies if isinstance(reply.body, str)]
    queries, hits = (
        sum(_counter(text, f"vllm:prefix_cache_{name}_total") for text in texts)
        for name in ("queries", "hits")
    )
    return PrefixTokens(queries, hits)


def _counter(text: str, name: str) -> float:
    """Return a counter of the Prometheus format, summed over its labels."""
    found = re.findall(rf"^{name}(?:\{{.*\}})? (\d\S*)$", text, re.MULTILINE)
    return sum(map(float, found))
