"""Which parts of a web page are its content: everything but navigation, banners and footers.

Works by removal, because a rule that picks "the" content element loses the rest: first elements
that say what they are (`nav`, roles, class names in Turkish and English), then short boxes that
ask for consent to cookies, then blocks that are almost only links. An explicit `main` (or a single
`article`) narrows the page when it holds a fair share of its text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from lxml import etree
from lxml.html import HtmlElement

from .clean import words

_NEVER = words(
    "script style noscript template svg canvas iframe object embed button select option input "
    "textarea audio video map dialog nav aside menu link meta head"
)
_ROLES = words(
    "navigation banner contentinfo complementary search dialog alertdialog menu menubar toolbar "
    "tablist alert"
)
_BOILERPLATE = re.compile(
    r"(?:^|[\s_-])(?:(?:site|page|main|top|global|mobile|side|ust|alt|sol|sag)?[_-]?"
    r"(?:nav|navbar|navigation|menu|menü|footer|sidebar|breadcrumbs?|altbilgi|ustbilgi)"
    r"|cookies?|cookie\w*|consent|gdpr|cerez\w*|çerez\w*|ekmek[_-]kirintisi|kirinti|skip[_-]?links?"
    r"|skip[_-]to[_-]\w+|share|sharing|social\w*|paylas|newsletter|bulten|related|ilgili[_-]yazilar"
    r"|pagination|pager|sayfalama|popup|modal|advert\w*|ads|reklam|toc|language[_-]switcher"
    r"|back[_-]to[_-]top|sr[_-]only|visually[_-]hidden|print[_-]only|comments?|yorumlar)(?=$|[\s_-])",
    re.I,
)
_COOKIES = re.compile(r"çerez|cookie", re.I)
_CONSENT = re.compile(r"kabul|onay|izin|tercih|reddet|accept|agree|consent|reject|settings", re.I)
_COPYRIGHT = re.compile(r"^\s*(©|\(c\)|copyright\b)|tüm hakları saklıdır|all rights reserved", re.I)
_BOXES = words("div section ul ol p td header footer form table")
_LINES = words("p div center font small span li td")
_LISTS = words("ul ol div td p section")
_SHARE_OF_MAIN = 0.25
_CONSENT_LENGTH, _COPYRIGHT_LENGTH = 400, 200
_HOLDS_CONTENT = words("body main article")
_LONGEST_NAMES = 200  # that are remembered
_WITH_MAIN_ROLE = etree.XPath(".//*[@role='main']")


def remove_boilerplate(body: HtmlElement) -> tuple[HtmlElement, int]:
    """`(root, removed)`: the element that holds the content, cleaned in place, and how many
    elements with text were removed from it."""
    removed = _drop(body, [e for e in body.iter() if _is_boilerplate(e)])
    root = _main_element(body)
    if root is not body:
        removed += int(_length(body) > _length(root))
    sizes = _sizes(root)
    removed += _drop(root, [e for e in root.iter(*_BOXES) if _is_consent(e, sizes[e])])
    if root.tag not in ("main", "article"):
        removed += _drop(root, [e for e in root.iter(*_LISTS) if sizes[e].is_link_block])
    return root, removed + _drop(
        root, [e for e in root.iter(*_LINES) if _is_copyright(e, sizes[e])]
    )


@dataclass(slots=True)
class _Size:
    """Characters in an element, those of them in links, and how many links."""

    text: int = 0
    linked: int = 0
    links: int = 0

    @property
    def is_link_block(self) -> bool:
        """Three links or more that make up nearly all of the text."""
        return self.links >= 3 and self.linked >= 0.75 * max(self.text, 1)


def _sizes(root: HtmlElement) -> dict[HtmlElement, _Size]:
    """The size of every element, in one pass from the leaves up: pages can be deep and wide."""
    sizes: dict[HtmlElement, _Size] = {}
    elements = list(root.iter())
    for element in reversed(elements):
        size = sizes.get(element) or sizes.setdefault(element, _Size())
        size.text += _visible(element.text)
        if element.tag == "a":
            size.linked, size.links = size.text, size.links + 1
        if element is not root:
            parent = element.getparent()
            around = sizes.get(parent) or sizes.setdefault(parent, _Size())
            around.text += size.text + _visible(element.tail)
            around.linked += size.linked
            around.links += size.links
    return sizes


def _visible(text: str | None) -> int:
    return len(" ".join(text.split())) if text else 0


def _drop(root: HtmlElement, elements: list[HtmlElement]) -> int:
    """Remove elements (their tails stay); the number of those that held text."""
    dropped = 0
    for element in elements:
        if element is root or element.getparent() is None:
            continue
        visible = element.tag not in ("script", "style", "noscript", "template")
        dropped += int(visible and bool(element.text_content().strip()))
        element.drop_tree()
    return dropped


def _is_boilerplate(element: HtmlElement) -> bool:
    tag = element.tag
    if not isinstance(tag, str) or tag in _NEVER:
        return True
    if tag in ("header", "footer") and not _inside_content(element):
        return not (tag == "header" and element.find(".//h1") is not None)
    attributes = element.attrib
    if not attributes or tag in _HOLDS_CONTENT:
        return False
    return attributes.get("role") in _ROLES or _is_hidden(element) or _is_named(element)


def _inside_content(element: HtmlElement) -> bool:
    return any(parent.tag in ("main", "article") for parent in element.iterancestors())


def _is_hidden(element: HtmlElement) -> bool:
    """Collapsed answers of an accordion are hidden too, so only what cannot be one is dropped."""
    hidden = "hidden" in element.attrib and element.get("hidden") != "until-found"
    if not hidden and element.get("aria-hidden") != "true":
        return False
    if element.get("role") in ("tabpanel", "region") or _inside_content(element):
        return False
    return not _holds_page(element) and (hidden or _length(element) < 80)


def _is_named(element: HtmlElement) -> bool:
    names = f"{element.get('class', '')} {element.get('id', '')}"
    if len(names) < 3:
        return False
    usual = len(names) < _LONGEST_NAMES
    if not (_names_boilerplate if usual else _names_boilerplate.__wrapped__)(names):
        return False
    return element.tag in ("ul", "ol", "form", "span", "a") or not _holds_page(element)


@lru_cache(maxsize=4096)
def _names_boilerplate(names: str) -> bool:
    """A website uses the same few class names on every page."""
    return bool(_BOILERPLATE.search(names))


def _holds_page(element: HtmlElement) -> bool:
    """A wrapper called "page-with-sidebar" must not take the whole content with it."""
    return element.find(".//h1") is not None or element.find(".//main") is not None


def _main_element(body: HtmlElement) -> HtmlElement:
    candidates = [*body.iter("main"), *_WITH_MAIN_ROLE(body)]
    if not candidates:
        articles = list(body.iter("article"))
        candidates = articles if len(articles) == 1 else []
    enough = _SHARE_OF_MAIN * _length(body)
    return next((c for c in candidates if _length(c) > max(enough, 1)), body)


def _length(element: HtmlElement) -> int:
    return len(" ".join(element.text_content().split()))


def _is_consent(element: HtmlElement, size: _Size) -> bool:
    if size.text >= _CONSENT_LENGTH or not size.links:
        return False
    text = element.text_content()
    if not _COOKIES.search(text) or element.find(".//h1") is not None:
        return False
    return bool(_CONSENT.search(text))


def _is_copyright(element: HtmlElement, size: _Size) -> bool:
    return 0 < size.text < _COPYRIGHT_LENGTH and bool(_COPYRIGHT.search(element.text_content()))
