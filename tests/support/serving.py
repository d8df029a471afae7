"""A served application for a browser: uvicorn in a thread, on a free port, over a store of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread

import uvicorn

from stepmark.store.store import Store
from stepmark.web.app import make_app
from stepmark.web.assets import Assets
from stepmark.web.server import address_of, listen
from stepmark.web.tokens import Tokens


@dataclass(frozen=True)
class Serving:
    """Where it is, and what it serves."""

    address: str
    store: Store


@contextmanager
def serving(store: Store, *, assets: Assets, tokens: Tokens | None = None) -> Iterator[Serving]:
    """Answers until the block ends."""
    app = make_app(store, tokens=tokens or Tokens(), assets=assets)
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield Serving(address_of(listening), store)
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
