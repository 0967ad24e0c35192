"""A model server on loopback that plays vLLM: the same paths, bodies and errors."""

import asyncio
import hashlib
import math
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from bed.information import probability

_DEPMAP = "Result:\n  Chronos gene-effect {effect} (phrase)\n  P(dependency) {p} (phrase)"


@dataclass
class FakeServer:
    """What it serves and how.

    Attributes:
        kind: "classifier" answers /classify alone, "chat" the chat paths alone.
        model: its name.
        key: what it wants as bearer, where given.
        jitter: how far the size of a batch moves a logit.
        garbage: whether chat answers say nothing readable.
        url: where it listens.
        paths: of the requests so far.
    """

    kind: str
    model: str = "tiny"
    key: str | None = None
    jitter: float = 0.0
    garbage: bool = False
    url: str = ""
    paths: list[str] = field(default_factory=list)

    def classified(self, body: dict[str, Any]) -> dict[str, Any]:
        rows = body["input"] if isinstance(body["input"][0], list) else [body["input"]]
        logits = [_logit(ids) + self.jitter * (len(rows) - 1) for ids in rows]
        if body.get("use_activation", True):
            logits = probability(logits).tolist()
        return {
            "object": "list",
            "model": self.model,
            "data": [
                {"index": i, "label": "LABEL_0", "probs": [logit], "num_classes": 1}
                for i, logit in enumerate(logits)
            ],
            "usage": {"prompt_tokens": sum(map(len, rows)), "completion_tokens": 0},
        }

    def chatted(self, body: dict[str, Any]) -> dict[str, Any]:
        text = self._answer(body["messages"][-1]["content"], body.get("seed") or 0)
        message = {"role": "assistant", "content": text}
        return {
            "object": "chat.completion",
            "model": self.model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
        }

    def _answer(self, question: str, seed: int) -> str:
        draw = _uniform(f"{seed} {question}")
        if self.garbage:
            return "I would rather not say."
        if question.endswith("<choice>i</choice>"):
            most = int(re.findall(r"from 0 to (\d+)", question)[-1])
            return f"<choice>{int(draw * (most + 1))}</choice>"
        if "EXPERIMENT TO SIMULATE" in question:
            is_supportive = "that supports the target" in question
            effect = -0.6 - draw if is_supportive else 0.3 * draw
            return _DEPMAP.format(effect=f"{effect:.2f}", p="0.90" if is_supportive else "0.05")
        return f"<probability>{0.2 + 0.6 * draw:.2f}</probability>"


def _uniform(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48


def _logit(ids: list[int]) -> float:
    u = 0.1 + 0.8 * _uniform(str(ids))
    return math.log(u / (1 - u))


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "code": status}}, status=status)


def _application(server: FakeServer) -> web.Application:
    async def handle(request: web.Request) -> web.Response:
        server.paths.append(request.path)
        if server.key and request.headers.get("Authorization") != f"Bearer {server.key}":
            return _error(401, "Incorrect API key provided")
        if request.path == "/health":
            return web.Response()
        if request.path == "/v1/models":
            return web.json_response({"data": [{"id": server.model, "max_model_len": 8192}]})
        answers = {"classifier": {"/classify": server.classified}}
        answers["chat"] = {"/v1/chat/completions": server.chatted}
        answer = answers[server.kind].get(request.path)
        if answer is None:
            return web.json_response({"detail": "Not Found"}, status=404)
        body = await request.json()
        if body.get("model") != server.model:
            return _error(404, f"The model `{body.get('model')}` does not exist.")
        return web.json_response(answer(body))

    application = web.Application(client_max_size=2**26)
    application.router.add_route("*", "/{path:.*}", handle)
    return application


@contextmanager
def serving(kind: str, **settings: Any) -> Iterator[FakeServer]:
    """Serve on a free port of loopback until the end of the block."""
    server = FakeServer(kind, **settings)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start() -> web.AppRunner:
        runner = web.AppRunner(_application(server))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        server.url = f"http://127.0.0.1:{port}"
        return runner

    runner = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
