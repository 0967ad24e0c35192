"""What a fault means: whether it can pass, how long to wait before the next try, what to say."""

import json

from bed.seeds import derive_seed, uniform
from bed.transport.values import Call
from bed.transport.wire import Answer

__all__ = ["can_pass", "refusal", "seconds_to_wait"]

_PASSING = (200, 408, 429, 500, 502, 503, 504)
_LEAST_WAIT, _MOST_WAIT = 0.5, 8.0
_HINTS = {
    401: "; check the key",
    403: "; check the key",
    404: "; check the URL and the model's name",
}


def can_pass(call: Call, answer: Answer) -> bool:
    """Return whether a call that was refused may be answered later; 200 came without JSON.

    A crowded server takes no batch of several however often it comes: its sender halves it.
    """
    return answer.status in _PASSING and not (answer.status == 503 and call.num_items > 1)


def seconds_to_wait(call: Call, num_tries: int) -> float:
    """Return full jitter under a ceiling that doubles with each try.

    It hangs on a hash of the call, never on hidden state.
    """
    ceiling = min(_MOST_WAIT, _LEAST_WAIT * 2.0**num_tries)
    seed = derive_seed("jitter", call.path, json.dumps(call.body, default=str), num_tries)
    return _LEAST_WAIT + (ceiling - _LEAST_WAIT) * uniform(seed)


def refusal(answer: Answer) -> str:
    """Return what a server said instead of an answer, and what to do where that is known."""
    body = answer.body
    error = body.get("error", body.get("detail", body)) if isinstance(body, dict) else body
    message = error.get("message", error) if isinstance(error, dict) else error
    if answer.status == 200:
        return f"its answer is no JSON object or list: {message}"
    return f"status {answer.status}: {message or 'no message'}{_HINTS.get(answer.status, '')}"
