"""The five files: byte for byte what was published, and made again from records."""

from __future__ import annotations

from hashlib import sha256

import pytest

from stepmark.errors import UsageError
from stepmark.interchange.formats import FORMATS, format_of, parse, render
from stepmark.interchange.lines import Noise, Text, encode, loose_lines
from stepmark.published.catalogue import PUBLICATIONS, document_of, publication_named, text_of

DIGESTS = {
    "fragmented": "fbfd3c43a4350791f3bfc022a2704e41823800418e36a568c6cd0a6425147d38",
    "switchback": "49544771f6c0dd9f5ca34211d8a9557b82491a2cab2f6ebf7f473c5c3d84e0fc",
    "transformer-1": "adc0199961de8cbf11675f2a16245f206974856f19a93dac0e7eecc0eda619d3",
    "transformer-2": "612ad7c5fad64d262ea39fd85d255b181fb87c92e83f4de9d4d52934d341fea1",
    "lora": "ec44aefdd454bff08dcd7c5f67a1a0b4191072838b5ab790c98d2268360c6d35",
}
LOOSE = {"fragmented": 1, "switchback": 6, "transformer-1": 7, "transformer-2": 21, "lora": 3}
"""Lines that are prose, the header of a web page, or cargo's; all others are read."""


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_the_data_are_the_published_bytes(name: str) -> None:
    assert sha256(encode(text_of(name))).hexdigest() == DIGESTS[name]


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_records_give_the_file_back(name: str) -> None:
    document = document_of(name)
    assert render(document) == text_of(name)
    assert parse(render(document), name) == document
    assert format_of(document).name == PUBLICATIONS[name].format


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_only_prose_is_kept_as_text(name: str) -> None:
    parts = document_of(name).parts
    loose = [line for part in parts if isinstance(part, Text | Noise) for line in loose_lines(part)]
    assert len([line for line in loose if line.strip()]) == LOOSE[name]


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_every_publication_says_where_it_comes_from(name: str) -> None:
    publication = PUBLICATIONS[name]
    assert publication.format in FORMATS
    for field in publication.__struct_fields__:
        assert getattr(publication, field)
    assert publication.date[:2] == "20"


def test_a_slip_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="no published result 'fragmentd'") as caught:
        publication_named("fragmentd")
    assert caught.value.remedy.startswith("did you mean fragmented?")
