"""Templates: pages of the application, every value escaped, with the few words that all of them need."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from stepmark.records.run import RunStatus
from stepmark.report import format as show
from stepmark.version import VERSION
from stepmark.web.assets import Assets

STATUS_SIGNS = {RunStatus.COMPLETE: "●", RunStatus.RUNNING: "◐", RunStatus.INTERRUPTED: "○"}


UTC_ZONE = UTC


def make_environment(assets: Assets) -> Environment:
    """Escapes everything; a name that a page was not given is an error, not nothing."""
    environment = Environment(
        loader=PackageLoader("stepmark.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(asset=assets.path, version=VERSION, status_signs=STATUS_SIGNS, address=address)
    environment.filters.update(
        moment=moment,
        iso=iso,
        duration=show.duration,
        seconds=show.seconds,
        ratio=show.ratio,
        interval=show.interval,
        plus_minus=show.plus_minus,
        percent=show.percent,
        plural=show.plural,
        spread=spread,
        thousands=lambda number: f"{number:,}".replace(",", "\u202f"),
    )
    return environment


def render_page(request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A whole page as an answer."""
    return HTMLResponse(render(request, name, **values), status_code=status)


def render(request: Request, name: str, **values: Any) -> str:
    """The text of a template."""
    state = request.app.state
    template = state.environment.get_template(name)
    shared = {"place": request.url.path, "guarded": state.tokens.read is not None}
    text: str = template.render(**shared, **values)
    return text


def moment(epoch: float) -> str:
    """In UTC, because readers and machines may be anywhere: `2026-11-03 14:05`."""
    return show.moment(epoch, zone=UTC)


def iso(epoch: float) -> str:
    """For machines: `2026-11-03T14:05:09+00:00`."""
    return datetime.fromtimestamp(epoch, tz=UTC).isoformat(timespec="seconds")


def spread(deviation: float) -> str:
    """`0.42 %`, or that it is too small to be told."""
    return f"below 0.01{show.NBSP}%" if deviation < 5e-5 else show.effect(deviation)


def address(path: str, query: Mapping[str, Any] | None = None, **more: Any) -> str:
    """A path with a query, without what is not given."""
    pairs = {**(query or {}), **more}
    given = {name: value for name, value in pairs.items() if value not in (None, "", ())}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path
