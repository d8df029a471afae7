"""The cache of answers: never more bytes than allowed, never made twice at once."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from stepmark.web.cache import ByteCache
from tests.support.properties import steady


@steady
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 40)), max_size=60), st.integers(0, 100))
def test_it_never_holds_more_than_it_may_and_always_answers(
    asked: list[tuple[int, int]], max_bytes: int
) -> None:
    cache = ByteCache(max_bytes=max_bytes)
    for key, size in asked:
        made = bytes([key]) * size
        assert cache.answer((key, size), lambda made=made: made) == made  # type: ignore[misc]
        assert cache.size <= max_bytes


def test_what_is_kept_is_not_made_again_and_the_oldest_goes_first() -> None:
    cache, made = ByteCache(max_bytes=2), []

    def make(name: str) -> bytes:
        made.append(name)
        return b"x"

    for name in ("a", "b", "a", "c", "a", "b"):
        cache.answer(name, lambda name=name: make(name))  # type: ignore[misc]
    assert made == ["a", "b", "c", "b"]


def test_threads_that_ask_for_the_same_share_one_answer() -> None:
    cache, made, ready = ByteCache(max_bytes=100, num_makers=1), [], threading.Barrier(4)

    def make() -> bytes:
        made.append(1)
        return b"answer"

    def ask() -> None:
        ready.wait()
        assert cache.answer("key", make) == b"answer"

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
