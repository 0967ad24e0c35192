"""How requests reach model servers: one transport, injected wherever a model is served.

`HttpTransport` sends batches to the replicas of an endpoint; `ScriptedTransport` plays a server in
tests; `CachedTransport` remembers what was answered. What can pass is tried again, what cannot
becomes a reason, and one bad item never costs the others their answers.
"""

from bed.transport.batches import Failure, in_order, send_batches
from bed.transport.cached import CachedTransport, Store
from bed.transport.http import HttpTransport
from bed.transport.metrics import PrefixTokens, prefix_tokens
from bed.transport.scripted import ScriptedTransport
from bed.transport.store import AnswerStore
from bed.transport.tally import Tally
from bed.transport.values import Call, Endpoint, EndpointDownError, Reply, Transport, Vetting

__all__ = [
    "AnswerStore",
    "CachedTransport",
    "Call",
    "Endpoint",
    "EndpointDownError",
    "Failure",
    "HttpTransport",
    "PrefixTokens",
    "Reply",
    "ScriptedTransport",
    "Store",
    "Tally",
    "Transport",
    "Vetting",
    "in_order",
    "prefix_tokens",
    "send_batches",
]
