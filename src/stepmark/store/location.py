"""Where the store is: a choice, the environment variable, or the user's data directory."""

from __future__ import annotations

import os
import re
from pathlib import Path

from platformdirs import user_data_path
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from stepmark.errors import StoreError, UsageError
from stepmark.store.trouble import ELSEWHERE, no_runs

VARIABLE = "STEPMARK_STORE"
_SECRET = re.compile(r"//.*@", re.DOTALL)
"""User and password; a URL that cannot be read does not say where they end."""


def store_url(choice: str | None) -> str:
    """The URL to open: `choice` before STEPMARK_STORE before the default; both may be a plain path."""
    text = choice or os.environ.get(VARIABLE)
    if text and "://" in text:
        return text
    if text and "?" in text:
        raise UsageError(
            f"'{text}' cannot be a store: '?' begins the options of a URL", remedy="choose a path without '?'"
        )
    path = Path(text).expanduser().absolute() if text else default_path()
    return URL.create("sqlite", database=str(path)).render_as_string()


def default_path() -> Path:
    """`stepmark/stepmark.db` in the user's data directory."""
    return user_data_path("stepmark", appauthor=False) / "stepmark.db"


def parse(url: str) -> URL:
    """The URL, taken apart."""
    try:
        return make_url(url)
    except (ArgumentError, ValueError):  # a port that is no number is a ValueError
        raise StoreError(
            f"'{_SECRET.sub('//***@', url)}' is not a database URL",
            remedy="write a path, or a URL like sqlite:///results.db or postgresql+psycopg://host:5432/name",
        ) from None


def database_file(url: URL) -> Path | None:
    """The file behind a URL; None for a server, for memory, and for SQLite's own `file:` notation."""
    database = url.database or ""
    if url.get_backend_name() != "sqlite" or is_memory(url) or database.startswith("file:"):
        return None
    return Path(database)


def is_memory(url: URL) -> bool:
    """Whether the store lives as long as its connection only."""
    return url.get_backend_name() == "sqlite" and url.database in {None, "", ":memory:"}


def identity(file: Path | None) -> tuple[int, int] | None:
    """What tells a file from another in its place; None where there is none."""
    try:
        found = file.stat() if file is not None else None
    except FileNotFoundError:
        found = None
    return (found.st_dev, found.st_ino) if found is not None else None


def prepare_file(file: Path, *, create: bool) -> None:
    """See that a SQLite file is there, or can be; a directory on the way to it is made, the file is not."""
    if file.is_dir():
        raise StoreError(f"{file} is a directory", remedy=f"name a file in it: {file / 'stepmark.db'}")
    if file.exists():
        return
    if not create:
        raise no_runs(str(file))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the directory {file.parent} cannot be made: {error.strerror}", remedy=ELSEWHERE
        ) from error
