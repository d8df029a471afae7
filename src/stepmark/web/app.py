"""The application: routes, in the order in which a reader meets them, and what surrounds every request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus

import anyio.to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stepmark.errors import StepmarkError
from stepmark.store.store import Store
from stepmark.web import problem_page
from stepmark.web.admission import Admission
from stepmark.web.api_page import api_page
from stepmark.web.archive import Archive
from stepmark.web.assets import Assets
from stepmark.web.comparison_page import comparison_page
from stepmark.web.endpoint import JSON, Endpoint, encode, respond
from stepmark.web.endpoints import ENDPOINTS
from stepmark.web.gate import check_write
from stepmark.web.headers import StrictHeaders
from stepmark.web.history_page import history_page
from stepmark.web.intake import Intake
from stepmark.web.login import log_in, log_out, login_form
from stepmark.web.machines_page import machines_page
from stepmark.web.openapi import UPLOAD_PATH, openapi_document
from stepmark.web.problems import Refused
from stepmark.web.run_list_page import run_list_page
from stepmark.web.run_page import run_page, run_report
from stepmark.web.templating import make_environment
from stepmark.web.tokens import Tokens
from stepmark.web.upkeep import Upkeep
from stepmark.web.upload import body_of, keep

NUM_THREADS = 8
"""Requests that read the store at the same time; the others wait, instead of needing memory."""
SMALLEST_PACKED = 1024
"""Bytes from which on an answer is compressed."""


def make_app(store: Store, *, tokens: Tokens, assets: Assets) -> Starlette:
    """The application over a store; whoever made the store closes it."""
    app = Starlette(
        routes=[*_pages(assets), *_api()],
        middleware=[
            Middleware(StrictHeaders),
            Middleware(problem_page.Unbroken),
            Middleware(Admission, tokens=tokens),
            Middleware(GZipMiddleware, minimum_size=SMALLEST_PACKED, compresslevel=5),
        ],
        exception_handlers={
            Refused: problem_page.refused,
            StepmarkError: problem_page.mistaken,
            HTTPException: problem_page.unanswered,
        },
        lifespan=_lifespan,
    )
    app.state.archive = Archive(store)
    app.state.upkeep = Upkeep(store)
    app.state.intake = Intake()
    app.state.tokens = tokens
    app.state.environment = make_environment(assets)
    app.state.openapi = openapi_document(ENDPOINTS)
    return app


def _pages(assets: Assets) -> list[Route]:
    return [
        Route("/", run_list_page),
        Route("/runs/{run}", run_page),
        Route("/runs/{run}/report", run_report),
        Route("/compare", comparison_page),
        Route("/history", history_page),
        Route("/machines", machines_page),
        Route("/api", api_page),
        Route("/login", login_form, methods=["GET"]),
        Route("/login", log_in, methods=["POST"]),
        Route("/logout", log_out, methods=["POST"]),
        Route("/static/{name}", assets.respond),
    ]


def _api() -> list[Route]:
    return [
        Route("/api/openapi.json", _openapi),
        Route(UPLOAD_PATH, _upload, methods=["POST"]),
        *(Route(endpoint.path, _answering(endpoint), name=endpoint.name) for endpoint in ENDPOINTS),
    ]


def _answering(endpoint: Endpoint) -> Callable[[Request], Response]:
    """A plain function, which Starlette runs in a thread."""

    def answer(request: Request) -> Response:
        return respond(endpoint, request)

    return answer


def _openapi(request: Request) -> Response:
    return Response(encode(request.app.state.openapi), media_type=JSON)


async def _upload(request: Request) -> Response:
    """The token is checked before the body is read."""
    check_write(request.headers, request.app.state.tokens)
    intake: Intake = request.app.state.intake
    async with intake.place():
        async with intake.arrival():
            data = await body_of(request)
        async with intake.turn():
            kept = await run_in_threadpool(partial(keep, request.app.state.archive.store, data))
    status = HTTPStatus.CREATED if kept.new else HTTPStatus.OK
    return Response(encode(kept), status_code=status, media_type=JSON, headers={"Location": kept.page})


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    anyio.to_thread.current_default_thread_limiter().total_tokens = NUM_THREADS
    upkeep: Upkeep = app.state.upkeep
    upkeep.start()
    try:
        yield
    finally:
        await run_in_threadpool(upkeep.stop)
