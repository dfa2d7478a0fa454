"""XML from a stranger's file: no entities, no network, no unbounded depth."""

from __future__ import annotations

from lxml import etree

from .errors import BrokenFile


def parse_xml(data: bytes) -> etree._Element:
    """The root element. Raises BrokenFile when it is not well formed."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False, recover=False
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise BrokenFile() from error
