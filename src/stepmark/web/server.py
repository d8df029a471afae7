"""The server: the application on a socket, until it is told to stop."""

from __future__ import annotations

import logging
import socket
import sys

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from stepmark.errors import StepmarkError, UsageError
from stepmark.web.access_log import LOG, AccessLog

GRACE = 3
"""Seconds that answers under way have when the server stops."""
MAX_PORT = 65535


def listen(host: str, port: int) -> socket.socket:
    """A socket that waits for readers; port 0 takes any that is free."""
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise UsageError(
            f"'{host}' is no address of this machine", remedy="use 127.0.0.1, or 0.0.0.0 for all"
        ) from None
    family, _, _, _, address = found[0]
    try:
        listening = socket.create_server(address[:2], family=family, backlog=128)
    except OSError as error:
        remedy = (
            "does another stepmark serve run? choose a port with --port, or --port 0 for any that is free"
        )
        raise StepmarkError(f"cannot serve at {host}:{port}: {error.strerror}", remedy=remedy) from None
    # Connections inherit it. Without it the end of an answer waits 40 ms for the reader's acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def address_of(listening: socket.socket) -> str:
    """Where a browser finds it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(app: Starlette, listening: socket.socket, *, access_log: bool) -> None:
    """Answer until Ctrl-C or SIGTERM. uvicorn's own access log is off: it shows whole addresses."""
    served: ASGIApp = app
    if access_log:
        handler = logging.StreamHandler(sys.stderr)
        LOG.addHandler(handler)
        LOG.setLevel(logging.INFO)
        served = AccessLog(app)
    config = uvicorn.Config(
        served,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        limit_concurrency=None,
        ws="none",
    )
    uvicorn.Server(config).run(sockets=[listening])
