"""Uploads: kept once and whole, or refused with a reason, and never without the write token."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from starlette.testclient import TestClient

from stepmark.interchange.run_bundle import to_bundle
from stepmark.records.run import Recording, RunStatus
from stepmark.store.store import Store
from stepmark.web import upload
from stepmark.web.app import make_app
from stepmark.web.assets import Assets
from stepmark.web.tokens import Tokens
from tests.support.served import served_run

READ, WRITE = "read-read-read-read-read", "write-write-write-write"
ALLOWED = {"Authorization": f"Bearer {WRITE}"}


@pytest.fixture
def taking(fresh: Store, assets: Assets) -> Iterator[TestClient]:
    """An empty store that takes uploads, and whose readers need no token."""
    with TestClient(
        make_app(fresh, tokens=Tokens(write=WRITE), assets=assets), base_url="http://localhost"
    ) as made:
        yield made


def post(client: TestClient, data: bytes) -> tuple[int, dict[str, object]]:
    answer = client.post("/api/runs", content=data, headers=ALLOWED)
    return answer.status_code, answer.json()


def test_a_run_arrives_whole_and_is_kept_once(taking: TestClient, fresh: Store) -> None:
    recording = served_run(1)
    run_id = recording.run.id
    bundle = to_bundle(recording)
    assert post(taking, bundle) == (201, {"run": run_id, "new": True, "page": f"/runs/{run_id}"})
    assert post(taking, bundle) == (200, {"run": run_id, "new": False, "page": f"/runs/{run_id}"})
    assert fresh.load(run_id) == recording
    assert taking.get(f"/api/runs/{run_id}/export?format=bundle").content == bundle


def test_another_run_under_the_same_id_is_a_conflict(taking: TestClient, fresh: Store) -> None:
    first, second = served_run(1), served_run(2)
    post(taking, to_bundle(first))
    other = replace(second, run=replace(second.run, id=first.run.id))
    status, problem = post(taking, to_bundle(other))
    assert status == 409
    assert first.run.id in str(problem["detail"])
    assert fresh.load(first.run.id) == first


def test_it_is_summarized_at_once(taking: TestClient, fresh: Store) -> None:
    post(taking, to_bundle(served_run(1)))
    assert fresh.heads(1)[0].verdicts is not None


@pytest.mark.parametrize(
    ("tokens", "headers", "status"),
    [
        (Tokens(), ALLOWED, 403),
        (Tokens(read=READ), {"Authorization": f"Bearer {READ}"}, 403),
        (Tokens(read=READ, write=WRITE), {}, 401),
        (Tokens(read=READ, write=WRITE), {"Authorization": f"Bearer {READ}"}, 403),
        (Tokens(read=READ, write=WRITE), {"Authorization": f"Basic {WRITE}"}, 401),
        (Tokens(read=READ, write=WRITE), {"Cookie": f"stepmark_session={WRITE}"}, 401),
        (Tokens(read=READ, write=WRITE), ALLOWED, 201),
        (Tokens(write=WRITE), ALLOWED, 201),
    ],
)
def test_only_the_write_token_lets_anyone_write(
    fresh: Store, assets: Assets, tokens: Tokens, headers: dict[str, str], status: int
) -> None:
    with TestClient(make_app(fresh, tokens=tokens, assets=assets), base_url="http://localhost") as client:
        answer = client.post("/api/runs", content=to_bundle(served_run(1)), headers=headers)
    assert answer.status_code == status
    assert len(fresh.heads(None)) == (1 if status == 201 else 0)


def test_a_body_that_is_too_large_is_refused_before_it_is_read(
    taking: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(1000):
            yield bytes(2**16)

    for content in (bytes(17 * 2**20), pieces()):
        assert taking.post("/api/runs", content=content, headers=ALLOWED).status_code == 413


def test_a_bomb_is_refused(taking: TestClient) -> None:
    bomb = zlib.compressobj(9, wbits=31)
    packed = b"".join(bomb.compress(bytes(2**20)) for _ in range(128)) + bomb.flush()
    status, problem = post(taking, packed)
    assert status == 413
    assert "unpacks to more" in str(problem["detail"])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300))
def test_other_bytes_are_a_bad_request(taking: TestClient, fresh: Store, data: bytes) -> None:
    assert post(taking, data)[0] == 400
    assert post(taking, gzip.compress(data))[0] == 400
    assert not fresh.heads(None)


def spoiled() -> Iterator[tuple[str, Recording]]:
    whole = served_run(1)
    run = whole.run
    yield "not ended", replace(whole, run=replace(run, status=RunStatus.RUNNING, finished=None))
    yield "id is not one", replace(whole, run=replace(run, id="../../etc/passwd"))
    yield "id is not one", replace(whole, run=replace(run, id="<script>alert(1)</script>"))
    yield "not moments", replace(whole, run=replace(run, started=1e300))
    yield "no cases", replace(whole, run=replace(run, cases=()))
    yield "same id", replace(whole, run=replace(run, cases=(*run.cases, run.cases[0])))
    yield "none of its suites", replace(whole, run=replace(run, suites=()))
    yield (
        "one of them the baseline",
        replace(
            whole, run=replace(run, suites=(replace(run.suites[0], variants=run.suites[0].variants[1:]),))
        ),
    )
    elsewhere = replace(run.cases[0], cell=replace(run.cases[0].cell, device="cuda"))
    yield "solo pass is of a case", replace(whole, solos=(replace(whole.solos[0], case=elsewhere),))
    yield "launch is of a cell", replace(whole, launches=(replace(whole.launches[0], cell=elsewhere.cell),))
    yield "same number", replace(whole, launches=(*whole.launches, whole.launches[0]))
    lane = whole.launches[0].lanes[0]
    doubled = replace(whole.launches[0], lanes=(lane, lane))
    yield "two lanes", replace(whole, launches=(doubled,))
    stranger = replace(whole.launches[0], lanes=(replace(lane, variant="stranger"),))
    yield "a variant that its cell", replace(whole, launches=(stranger,))
    odd = replace(
        lane,
        rounds=lane.rounds[:-3],
        samples=tuple(replace(sample, nanoseconds=sample.nanoseconds[:-3]) for sample in lane.samples),
    )
    yield "cut off", replace(whole, launches=(replace(whole.launches[0], lanes=(odd,)),))
    none = replace(lane, samples=tuple(replace(sample, iterations=0) for sample in lane.samples))
    yield "no iterations", replace(whole, launches=(replace(whole.launches[0], lanes=(none,)),))


@pytest.mark.parametrize(("reason", "recording"), [*spoiled()])
def test_what_could_not_have_been_measured_is_refused(
    taking: TestClient, fresh: Store, reason: str, recording: Recording
) -> None:
    status, problem = post(taking, to_bundle(recording))
    assert status == 422, problem
    assert reason in str(problem["detail"])
    assert not fresh.heads(None)


def test_what_cannot_be_judged_is_refused(
    taking: TestClient, fresh: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(_: Recording) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("stepmark.keeping.judged", stumble)
    status, problem = post(taking, to_bundle(served_run(1)))
    assert status == 422
    assert "cannot be judged" in str(problem["detail"])
    assert not fresh.heads(None)


def test_a_bundle_of_a_newer_version_is_refused(taking: TestClient) -> None:
    lines = gzip.decompress(to_bundle(served_run(1))).splitlines()
    head = msgspec.json.decode(lines[0]) | {"format": 99}
    status, problem = post(taking, gzip.compress(b"\n".join([msgspec.json.encode(head), *lines[1:]])))
    assert status == 400
    assert "newer stepmark" in str(problem["detail"])


def test_the_limits_are_those_of_the_documentation() -> None:
    assert upload.MAX_PACKED == 16 * 2**20
