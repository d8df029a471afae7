"""Hosts: which addresses only this machine can reach, and by which names a request may ask for them.

A page of another site can make a browser send requests to 127.0.0.1: by rebinding its own name to that
address it may even read the answers. Such a request names the other site in its Host header: it is refused.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

LOCAL_NAME = "localhost"


def is_loopback(host: str) -> bool:
    """Whether nobody outside this machine can reach a server that binds to this host."""
    name = host.strip("[]").lower()
    if name == LOCAL_NAME:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def host_of(header: str) -> str | None:
    """The host in a Host header, without its port; None where it is not one."""
    if any(character in header for character in "/@?#\\ \t"):
        return None
    try:
        parts = urlsplit(f"//{header}")
        parts.port  # noqa: B018  it raises where the port is no number
    except ValueError:
        return None
    return parts.hostname


def asks_for_loopback(header: str | None) -> bool:
    """Whether a request's Host header names this machine by a loopback name."""
    host = host_of(header or "")
    return host is not None and is_loopback(host)


def same_origin(origin: str | None, host: str | None) -> bool:
    """Whether a request that changes something comes from this site's own pages; no Origin means that it does
    not come from a page at all."""
    if origin is None:
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(host) and parts.netloc.lower() == (host or "").lower()


def local_path(path: str) -> str:
    """A path of this site to go to after logging in; the front page where it would lead elsewhere."""
    plain = path.isascii() and path.isprintable() and not any(character in path for character in "\\ ")
    inside = path.startswith("/") and not path.startswith("//")
    return path if plain and inside else "/"
