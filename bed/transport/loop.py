"""An event loop on a thread of its own.

bed's protocols are synchronous and a notebook already runs a loop, so what must be awaited runs
here, from any thread.
"""

import asyncio
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

__all__ = ["LoopThread"]

_Result = TypeVar("_Result")

_SECONDS_TO_END = 5.0

_inherited: list[object] = []
"""What a forked child has of its parent's loops. It stays: to release a connection would take it
out of the selector that child and parent share, and the parent would wait for it in vain."""


class LoopThread:
    """Runs coroutines until it is closed, collected, or the interpreter ends.

    Args:
        at_end: awaited last, to close what lives on the loop.
    """

    def __init__(self, at_end: Callable[[], Awaitable[None]] | None = None) -> None:
        self._loop = asyncio.new_event_loop()
        self._pid = os.getpid()
        thread = threading.Thread(target=_forever, args=(self._loop,), name="bed", daemon=True)
        thread.start()
        self.close = weakref.finalize(self, _end, self._loop, thread, self._pid, at_end)

    @property
    def is_running(self) -> bool:
        """Whether it is open in this process; a forked child has the loop without its thread."""
        return self.close.alive and self._pid == os.getpid()

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Return what a coroutine returns; whatever interrupts the wait cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


def _forever(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


def _end(
    loop: asyncio.AbstractEventLoop,
    thread: threading.Thread,
    pid: int,
    at_end: Callable[[], Awaitable[None]] | None,
) -> None:
    if pid != os.getpid():
        _inherited.append((loop, at_end))
        return

    async def end() -> None:
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        if at_end is not None:
            await at_end()

    ended = asyncio.run_coroutine_threadsafe(end(), loop)
    ended.add_done_callback(lambda _: loop.call_soon_threadsafe(loop.stop))
    # a collection of garbage may come on the loop's own thread
    if thread is not threading.current_thread():
        thread.join(_SECONDS_TO_END)
