"""Uploads: kept once and whole, or refused with a reason, and never without the write token."""

from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from starlette.testclient import TestClient

from stepmark.interchange import run_bundle
from stepmark.interchange.run_bundle import from_bundle, to_bundle
from stepmark.pipeline import judged
from stepmark.records.card import CardReadings
from stepmark.records.environment import LoadFacts
from stepmark.records.inspection import Inspection, PhaseInspection
from stepmark.records.run import Recording, RunStatus
from stepmark.records.sample import Layout, pack
from stepmark.records.trial import LaneWatch, Renewal
from stepmark.report.runs_table import runs_table
from stepmark.store.store import Store
from stepmark.web import intake, upload
from stepmark.web.app import make_app
from stepmark.web.assets import Assets
from stepmark.web.tokens import Tokens
from tests.support.recordings import make_recording
from tests.support.served import DAY, served_run
from tests.support.whole_runs import CEILINGS, whole_run

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
    yield "later than tomorrow", replace(whole, run=replace(run, started=1e300))
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
    assert lane.warmup is not None
    card = CardReadings(rounds=b"", clocks=b"1", milliwatts=b"", strain=b"")
    for cut in (
        odd,
        replace(lane, warmup=replace(lane.warmup, nanoseconds=b"1")),
        replace(lane, warmup=replace(lane.warmup, first=b"1")),
        replace(lane, watch=LaneWatch(live_bytes=b"1")),
        replace(lane, watch=LaneWatch(own_bytes=b"1")),
        replace(lane, watch=LaneWatch(card=card)),
    ):
        yield "cut off", replace(whole, launches=(replace(whole.launches[0], lanes=(cut,)),))
    for num, reason in ((0, "no iterations"), (10**24, "more iterations than can be counted")):
        counted = replace(lane, samples=tuple(replace(sample, iterations=num) for sample in lane.samples))
        yield reason, replace(whole, launches=(replace(whole.launches[0], lanes=(counted,)),))


def spoiled_heads() -> Iterator[tuple[str, Recording]]:
    whole = served_run(1)
    run = whole.run
    tomorrow = time.time() + 1.1 * DAY
    for moment in (-1.0, tomorrow, 253402300799.0):  # the last second of the year 9999
        yield "later than tomorrow", replace(whole, run=replace(run, started=moment))
        yield "later than tomorrow", replace(whole, run=replace(run, finished=moment))
    for moment in (-1e308, 253402300799.0):
        measured = replace(CEILINGS, measured=moment)
        yield "not moments", replace(whole, run=replace(run, ceilings=measured))
        yield "not moments", replace(whole, run=replace(run, load_start=LoadFacts(time=moment)))
        yield "not moments", replace(whole, solos=(replace(whole.solos[0], started=moment),))
        busy = replace(whole.launches[0], load=LoadFacts(time=moment))
        yield "not moments", replace(whole, launches=(busy,))
    for index in (-1, 1, 77):
        moved = replace(run.suites[0], source_index=index)
        yield "a source that the run does not have", replace(whole, run=replace(run, suites=(moved,)))
    yield "format is none", replace(whole, run=replace(run, format=0))
    yield "format is none", replace(whole, run=replace(run, format=-(10**24)))
    for number in (-1, 2**31):
        yield "cannot be counted to", replace(whole, launches=(replace(whole.launches[0], number=number),))


def spoiled_solos() -> Iterator[tuple[str, Recording]]:
    whole = served_run(1)
    solo = whole.solos[0]
    assert solo.evidence is not None
    seen = Inspection(phases=(PhaseInspection(phase="forward"),) * 2)
    doubled = replace(solo, evidence=replace(solo.evidence, inspection=seen))
    yield "one phase twice", replace(whole, solos=(doubled,))
    many = Layout(phases=tuple(f"phase {number}" for number in range(1001)), primary="phase 0")
    long = replace(solo, evidence=replace(solo.evidence, layout=many))
    yield "more than 1000 phases", replace(whole, solos=(long,))


def spoiled_names() -> Iterator[tuple[str, Recording]]:
    whole = served_run(1)
    run, environment = whole.run, whole.run.environment
    assert environment.repository is not None
    elsewhere = replace(environment, host=replace(environment.host, hostname="a\0b"))
    branched = replace(environment, repository=replace(environment.repository, branch="\0"))
    for changed in (elsewhere, branched, replace(environment, stepmark="1\0")):
        yield "zero byte", replace(whole, run=replace(run, environment=changed))
    launch = whole.launches[0]
    lane = launch.lanes[0]
    renamed = replace(lane, samples=(replace(lane.samples[0], phase="for\0ward"), *lane.samples[1:]))
    yield "zero byte", replace(whole, launches=(replace(launch, lanes=(renamed, *launch.lanes[1:])),))


def spoiled_rounds() -> Iterator[tuple[str, Recording]]:
    whole = served_run(1)
    launch = whole.launches[0]
    lane = launch.lanes[0]
    rounds = range(len(lane.rounds) // 8)
    for reason, numbers in (
        ("cannot be counted to", [*rounds[:-1], 20_000_000]),
        ("cannot be counted to", [*rounds[:-1], 2**63 - 1]),
        ("ascending order", [-1, *rounds[1:]]),
        ("ascending order", [0, 0, *rounds[2:]]),
        ("ascending order", [*rounds][::-1]),
    ):
        counted = replace(lane, rounds=pack(numbers))
        changed = replace(launch, lanes=(counted, *launch.lanes[1:]))
        yield reason, replace(whole, launches=(changed, *whole.launches[1:]))


def spoiled_company() -> Iterator[tuple[str, Recording]]:
    variants = dict.fromkeys((f"variant {number}" for number in range(520)), 1.0)
    whole = make_recording(variants=variants, axes={}, num_launches=0)
    run = replace(whole.run, id=served_run(1).run.id, started=1e9, finished=1e9)
    yield "pairs of variants", replace(whole, run=run)


def spoiled_orders() -> Iterator[tuple[str, Recording]]:
    whole = served_run(1)
    launch = whole.launches[0]
    order = ("dense", "fused")
    rounds = len(launch.lanes[0].rounds) // 8
    stranger = ("dense", "stranger")
    for changed in (
        replace(launch, round_orders=(order, stranger)),
        replace(launch, build_order=stranger),
        replace(launch, warmup_order=stranger),
        replace(launch, renewals=(Renewal(round=1, order=stranger),)),
    ):
        yield "an order names a variant", replace(whole, launches=(changed,))
    yield (
        "more orders than rounds",
        replace(whole, launches=(replace(launch, round_orders=(order,) * (rounds + 2)),)),
    )
    yield (
        "more orders than rounds",
        replace(whole, launches=(replace(launch, lanes=(), round_orders=(order,) * 2),)),
    )


@pytest.mark.parametrize(
    ("reason", "recording"),
    [
        *spoiled(),
        *spoiled_heads(),
        *spoiled_solos(),
        *spoiled_orders(),
        *spoiled_names(),
        *spoiled_rounds(),
        *spoiled_company(),
    ],
)
def test_what_could_not_have_been_measured_is_refused(
    taking: TestClient, fresh: Store, reason: str, recording: Recording
) -> None:
    status, problem = post(taking, to_bundle(recording))
    assert status == 422, problem
    assert reason in str(problem["detail"])
    assert not fresh.heads(None)


def test_a_round_that_was_begun_and_not_ended_has_an_order(taking: TestClient) -> None:
    whole = served_run(1)
    rounds = len(whole.launches[0].lanes[0].rounds) // 8
    begun = replace(whole.launches[0], round_orders=(("dense", "fused"),) * (rounds + 1))
    assert post(taking, to_bundle(replace(whole, launches=(begun, *whole.launches[1:]))))[0] == 201


def test_what_no_page_can_show_is_refused(taking: TestClient, fresh: Store) -> None:
    """Work whose traffic is negative can be judged; the chart of it has a logarithmic axis."""
    whole = whole_run(axes={"features": (128,)}, num_launches=2, num_confirming=0)
    run = replace(whole.run, id="20260101-000000-aaaa", started=1e9, finished=1e9 + 60)
    solos = []
    for solo in whole.solos:
        assert solo.evidence is not None
        assert solo.evidence.inspection is not None
        phases = tuple(replace(phase, traffic=-1e9) for phase in solo.evidence.inspection.phases)
        seen = replace(solo.evidence.inspection, phases=phases)
        solos.append(replace(solo, evidence=replace(solo.evidence, inspection=seen)))
    recording = replace(whole, run=run, solos=tuple(solos))
    judged(recording)
    status, problem = post(taking, to_bundle(recording))
    assert status == 422, problem
    assert "cannot be shown" in str(problem["detail"])
    assert not fresh.heads(None)


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles", "UTC"])
def test_the_list_of_runs_shows_what_was_taken_wherever_it_is_read(
    taking: TestClient, fresh: Store, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    for number, moment in enumerate((0.0, time.time() + 0.9 * DAY)):
        whole = served_run(number)
        ends = {"started": moment, "finished": moment}
        assert post(taking, to_bundle(replace(whole, run=replace(whole.run, **ends))))[0] == 201
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert runs_table(fresh.heads(None)).text().count("web0") == 2
    finally:
        monkeypatch.undo()
        time.tzset()


def test_uploads_are_read_one_at_a_time(taking: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    present = [0, 0]

    def slowly(data: bytes) -> Recording:
        present[0] += 1
        present[1] = max(present)
        time.sleep(0.05)
        present[0] -= 1
        return from_bundle(data)

    monkeypatch.setattr(upload, "from_bundle", slowly)
    bundles = [to_bundle(served_run(number)) for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda bundle: post(taking, bundle)[0], bundles)]
    assert answers == [201] * 4
    assert present == [0, 1]


def test_an_upload_that_finds_no_place_may_come_again(
    taking: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "PLACES", 0)
    answer = taking.post("/api/runs", content=to_bundle(served_run(1)), headers=ALLOWED)
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    monkeypatch.undo()
    assert post(taking, to_bundle(served_run(1)))[0] == 201


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
    assert (run_bundle.MAX_BYTES, run_bundle.MAX_VALUES, run_bundle.MAX_LINE_VALUES) == (
        96 * 2**20,
        2**20,
        2**18,
    )
    assert (intake.PLACES, intake.ON_ITS_WAY) == (8, 5 * 60)
