"""Unpack: an archive of documents is received member by member.

Each member is a document of its own, addressed inside the archive (`kit.zip/iade/kosullar.pdf`), so
a newer archive brings new versions of the same documents. What is wrong with one member keeps no
other out. Each costs a transaction and a stored file (about 20 ms), and the request waits for all
of them; so it takes `MOST_FILES` at once, and an archive of more is refused as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from django.core.files.base import File

from dolphy.errors import DolphyError
from ingestion.models import IngestionJob
from ingestion.parsing import NoContent, detect_media_type, members_or_reasons
from ingestion.parsing.media_type import ZIP
from ingestion.receive import LONGEST_URI, bounded, clean_name, clean_uri, receive
from tenants.models import Agent

MOST_FILES = 200


@dataclass(frozen=True)
class Received:
    """What an upload became: a job a document, and (address, reason) of what was not let in."""

    jobs: list[IngestionJob] = field(default_factory=list)
    refused: list[tuple[str, DolphyError]] = field(default_factory=list)
    is_archive: bool = False


def receive_any(
    agent: Agent,
    *,
    name: str,
    data: bytes | File[Any],
    uri: str = "",
    title: str = "",
    most: int | None = MOST_FILES,
) -> Received:
    """One upload, of a document or of an archive of at most `most` documents (None: of any number
    that an archive may hold).

    Raises what `receive` raises for a document, and what is wrong with an archive as a whole:
    `BrokenFile`, `PasswordProtected`, `TooComplex`, `TooManyFiles`, and `NoContent` when it holds
    no files.
    """
    content = bounded(data)
    if detect_media_type(content, name) != ZIP:
        return Received([receive(agent, name=name, data=content, uri=uri, title=title)])
    return _receive_members(agent, clean_uri(uri or clean_name(name)), content, most)


def _receive_members(agent: Agent, uri: str, archive: bytes, most: int | None) -> Received:
    received = Received(is_archive=True)
    for member, content in members_or_reasons(archive, most=most):
        address = f"{uri}/{member}"[:LONGEST_URI]
        try:
            if isinstance(content, DolphyError):
                raise content
            name = PurePosixPath(member).name
            received.jobs.append(receive(agent, name=name, data=content, uri=address))
        except DolphyError as error:
            received.refused.append((address, error))
    if not received.jobs and not received.refused:
        raise NoContent("The archive holds no documents.")
    return received
