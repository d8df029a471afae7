"""The tree of errors and its exit codes."""

from __future__ import annotations

import re

import pytest

from stepmark import errors
from stepmark.errors import BenchFileError, Interrupted, StepmarkError, Unsupported, UsageError

DRAWN = re.findall(r"^[│├└─ ]*(\w+)\s+(\d+)\s{3}", errors.__doc__ or "", flags=re.MULTILINE)


def test_the_drawn_tree_is_the_tree() -> None:
    classes = {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, StepmarkError)
    }
    assert {name: int(code) for name, code in DRAWN} == {
        name: value.exit_code for name, value in classes.items()
    }


def test_a_bench_file_that_fails_is_a_usage_error() -> None:
    assert issubclass(BenchFileError, UsageError)


def test_ctrl_c_has_the_shells_exit_code() -> None:
    assert Interrupted("stopped").exit_code == 130


def test_an_error_says_what_is_wrong_and_what_to_do() -> None:
    error = UsageError("no such axis", remedy="did you mean features?", detail="a longer story")
    assert (str(error), error.problem) == ("no such axis", "no such axis")
    assert (error.remedy, error.detail) == ("did you mean features?", "a longer story")


def test_unsupported_is_no_mistake_of_the_user() -> None:
    assert not issubclass(Unsupported, StepmarkError)
    with pytest.raises(Unsupported, match="only for wide layers"):
        raise Unsupported("only for wide layers")
