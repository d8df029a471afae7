"""The run that a command is to show: a stored one, or a suite of a reference that comes with stepmark."""

from __future__ import annotations

from stepmark.published.references import reference_names, reference_of_suite
from stepmark.records.run import Recording
from stepmark.store.location import store_url
from stepmark.store.store import Store

OF = "::"
"""Between a reference and a suite, as between a bench file and a suite."""


def is_of_reference(name: str) -> bool:
    return name.partition(OF)[0] in reference_names()


def named_run(name: str, store: str | None) -> Recording:
    """By its id, the beginning of it, `latest` or a baseline's name; or REFERENCE::SUITE."""
    if is_of_reference(name):
        reference, _, suite = name.partition(OF)
        return reference_of_suite(reference, suite)
    with Store.open(store_url(store), create=False) as opened:
        return opened.load(opened.resolve(name))


def file_name(name: str, recording: Recording) -> str:
    """A part of one, for what is written about it."""
    return name.replace(OF, "-") if is_of_reference(name) else recording.run.id
