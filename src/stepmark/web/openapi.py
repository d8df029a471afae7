"""The OpenAPI document: made from the table of endpoints and from the types of their queries and answers."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

from stepmark.version import VERSION
from stepmark.web.endpoint import JSON, Endpoint
from stepmark.web.problems import MEDIA_TYPE as PROBLEM_TYPE
from stepmark.web.problems import Problem
from stepmark.web.upload import MAX_PACKED, Uploaded

OPENAPI = "3.1.0"
_REFERENCE = "#/components/schemas/{name}"
ALWAYS = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.SERVICE_UNAVAILABLE)
"""What every call may end with: a malformed query, no token, a store that cannot be read."""
UPLOAD_ERRORS = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
PARTS = {
    "run": "A run's id, the beginning of one, the name of a baseline without slashes, latest, or latest~1."
}
UPLOAD_PATH = "/api/runs"


def openapi_document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The whole API, the upload included."""
    table = tuple(endpoints)
    kinds = [each.answer for each in table if each.answer is not None]
    schemas, components = msgspec.json.schema_components([*kinds, Problem, Uploaded], ref_template=_REFERENCE)
    of_kind = dict(zip([*map(id, kinds), id(Problem), id(Uploaded)], schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in table:
        paths.setdefault(endpoint.path, {})["get"] = _operation(endpoint, of_kind.get(id(endpoint.answer)))
    paths.setdefault(UPLOAD_PATH, {})["post"] = _upload(of_kind[id(Uploaded)])
    return {
        "openapi": OPENAPI,
        "info": {
            "title": "stepmark",
            "version": VERSION,
            "description": "Runs, verdicts, comparisons and histories of one store. Times are in seconds, "
            "moments in seconds since the epoch, ratios are time over the baseline's time.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token that serve printed.",
                },
            },
        },
        "security": [{}, {"bearer": []}],
    }


def _operation(endpoint: Endpoint, schema: dict[str, Any] | None) -> dict[str, Any]:
    content: dict[str, Any] = {JSON: {"schema": schema}} if schema else {}
    if schema is None:
        content = {media_type: {} for media_type in endpoint.media_types}
    return {
        "operationId": endpoint.name,
        "summary": endpoint.about,
        "parameters": [*map(_part, endpoint.parts), *_query_parameters(endpoint)],
        "responses": {
            "200": {"description": HTTPStatus.OK.phrase, "content": content},
            **_problems((*ALWAYS, *endpoint.errors)),
        },
    }


def _upload(schema: dict[str, Any]) -> dict[str, Any]:
    kept = {"content": {JSON: {"schema": schema}}}
    return {
        "operationId": "uploadRun",
        "summary": "Keep a run bundle; only where the server was started with --allow-upload.",
        "description": f"The body is what stepmark export RUN --format bundle writes, at most "
        f"{MAX_PACKED // 2**20} MiB. The write token is sent as a bearer token.",
        "requestBody": {
            "required": True,
            "content": {"application/gzip": {"schema": {"type": "string", "format": "binary"}}},
        },
        "responses": {
            "200": {"description": "The store has had the very same run before.", **kept},
            "201": {"description": "The run is in the store.", **kept},
            **_problems(UPLOAD_ERRORS),
        },
        "security": [{"bearer": []}],
    }


def _part(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": PARTS[name],
        "schema": {"type": "string"},
    }


def _query_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    fields = msgspec.structs.fields(endpoint.query)
    return [_parameter(field) for field in fields]


def _parameter(field: msgspec.structs.FieldInfo) -> dict[str, Any]:
    schema = _bare(msgspec.json.schema(field.type))
    described = schema.pop("description", "")
    if field.default not in (msgspec.NODEFAULT, None, ()):
        schema["default"] = msgspec.to_builtins(field.default)
    parameter = {"name": field.encode_name, "in": "query", "required": field.required, "schema": schema}
    return {**parameter, "description": described} if described else parameter


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    """Without references, and without null: a parameter that is not given is left out."""
    definitions = schema.pop("$defs", {})
    if "anyOf" in schema:
        (schema,) = [each for each in schema["anyOf"] if each != {"type": "null"}]
    if "$ref" in schema:
        schema = dict(definitions[schema["$ref"].rpartition("/")[2]])
    schema.pop("title", None)
    return schema


def _problems(errors: Iterable[HTTPStatus]) -> dict[str, Any]:
    reference = {"$ref": _REFERENCE.format(name=Problem.__name__)}
    return {
        str(error.value): {
            "description": error.phrase,
            "content": {PROBLEM_TYPE: {"schema": reference}},
        }
        for error in dict.fromkeys(errors)
    }
