"""The page of the API: its OpenAPI document, for people."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from stepmark.web.templating import render_page


def api_page(request: Request) -> Response:
    return render_page(
        request,
        "api.html",
        document=request.app.state.openapi,
        base=str(request.base_url).rstrip("/"),
        types=type_words,
    )


def type_words(schema: dict[str, Any]) -> str:
    """A parameter's type in words: `one of running, complete`, `integer, 1 to 200, 50 if not given`."""
    if "enum" in schema:
        words = [f"one of {', '.join(map(str, schema['enum']))}"]
    else:
        words = [schema.get("format") or schema.get("type", "anything")]
    if "minimum" in schema:
        words.append(
            f"{schema['minimum']} to {schema['maximum']}"
            if "maximum" in schema
            else f"from {schema['minimum']}"
        )
    if "default" in schema:
        words.append(f"{schema['default']} if not given")
    return ", ".join(words)
