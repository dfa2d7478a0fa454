"""XML from a stranger's file: no entities, no network, no unbounded depth."""

from __future__ import annotations

import re
from xml.parsers import expat

from lxml import etree

from .errors import BrokenFile

_ENTITY = re.compile(rb"<!\s*ENTITY", re.I)
_AT_ONCE = 65_536


class _Found(Exception):
    """Holds whether entities were declared before the root element, where alone they can be."""


def declares_entities(data: bytes) -> bool:
    """Whether it does anywhere before its root element, however long that takes to come."""
    parser = expat.ParserCreate()
    parser.EntityDeclHandler = lambda *_: _end(True)
    parser.StartElementHandler = lambda *_: _end(False)
    try:
        for start in range(0, len(data), _AT_ONCE):
            parser.Parse(data[start : start + _AT_ONCE])
    except _Found as found:
        return bool(found.args[0])
    except (expat.ExpatError, ValueError, LookupError):
        # Broken, or in a charset that only others know: look at the letters.
        return bool(_ENTITY.search(data.replace(b"\0", b"")))
    return False


def _end(declared: bool) -> None:
    raise _Found(declared)


def parse_xml(data: bytes) -> etree._Element:
    """The root element. Raises BrokenFile when it is not well formed."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False, recover=False
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise BrokenFile() from error
