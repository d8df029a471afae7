"""Tokens: who has one gets in, and nobody sees it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.errors import UsageError
from stepmark.web.tokens import MIN_LENGTH, Tokens, bearer_of, checked_token, new_token, same, session_of
from tests.support.properties import steady

allowed = st.text("abcXYZ019._~+/=-", min_size=MIN_LENGTH, max_size=60)


@steady
@given(st.text(max_size=40), st.text(max_size=40))
def test_secrets_agree_only_where_they_are_equal(one: str, other: str) -> None:
    surrogates = any("\ud800" <= character <= "\udfff" for character in one + other)
    assert same(one, one)
    assert same(one, other) == (one == other) or surrogates


def test_made_tokens_differ_and_are_long_enough() -> None:
    made = {new_token() for _ in range(50)}
    assert len(made) == 50
    assert all(checked_token(token, what="token") == token for token in made)


@steady
@given(allowed)
def test_a_good_token_is_taken_and_read_back_from_a_header(token: str) -> None:
    assert checked_token(token, what="token") == token
    assert bearer_of(f"Bearer {token}") == token
    assert bearer_of(f"bearer   {token} ") == token


@steady
@given(st.text(max_size=30))
def test_other_headers_hold_no_token(header: str) -> None:
    found = bearer_of(header)
    assert found is None or header.lower().startswith("bearer ")


@pytest.mark.parametrize(
    "bad",
    ["short", "a" * (MIN_LENGTH - 1), "with a space in the middle", "ünïcödé-ünïcödé-x", "line\nbreak" * 3],
)
def test_what_could_be_guessed_or_not_be_sent_is_refused(bad: str) -> None:
    with pytest.raises(UsageError, match="token"):
        checked_token(bad, what="token")


def test_the_two_tokens_must_differ() -> None:
    with pytest.raises(UsageError, match="the same"):
        Tokens(read="x" * 20, write="x" * 20)


@steady
@given(allowed, allowed)
def test_a_cookie_belongs_to_one_token_and_does_not_hold_it(one: str, other: str) -> None:
    assert one not in session_of(one)
    assert (session_of(one) == session_of(other)) == (one == other)


def test_no_secret_is_in_the_representation() -> None:
    assert "secret" not in repr(Tokens(read="secret-secret-secret", write="secret-secret-other"))
