"""How the API refuses, and how it is documented."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.management import call_command
from django.db import OperationalError
from django.http import Http404
from django.test import Client
from django.urls import resolve
from rest_framework import exceptions

from dolphy.api import as_refusal
from dolphy.errors import DolphyError, NotFound
from tests.factories import World

import_module("dolphy.urls")  # and with it every module that declares a refusal


@pytest.mark.parametrize(
    "error, status, code",
    [
        (NotFound(), 404, "not_found"),
        (exceptions.ParseError(), 400, "malformed"),
        (exceptions.ValidationError({"a": ["b"]}), 400, "invalid_input"),
        (exceptions.NotFound(), 404, "not_found"),
        (exceptions.PermissionDenied(), 403, "forbidden"),
        (exceptions.MethodNotAllowed("PUT"), 405, "method_not_allowed"),
        (exceptions.UnsupportedMediaType("x/y"), 415, "unsupported_media_type"),
        (exceptions.Throttled(), 429, "throttled"),
        (Http404(), 404, "not_found"),
        (PermissionDenied(), 403, "forbidden"),
        (RequestDataTooBig(), 413, "too_large"),
        (SuspiciousOperation(), 400, "malformed"),
        (OperationalError(), 503, "unavailable"),
        (ZeroDivisionError(), 500, "internal"),
    ],
)
def test_every_error_has_a_status_and_a_stable_code(
    error: Exception, status: int, code: str
) -> None:
    refusal = as_refusal(error)
    assert (refusal.status, refusal.code) == (status, code)


def subclasses(of: type[DolphyError]) -> list[type[DolphyError]]:
    return [one for child in of.__subclasses__() for one in (child, *subclasses(child))]


def test_every_refusal_says_what_it_means() -> None:
    for refusal in subclasses(DolphyError):
        assert refusal.__doc__, refusal
        assert re.fullmatch(r"[a-z][a-z0-9_]+", refusal.code), refusal
        assert 400 <= refusal.status < 600, refusal


def test_what_nobody_foresaw_is_logged_and_not_shown(
    acme: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("the secret plan failed")

    monkeypatch.setattr("tenants.scope.Boundary.agent", broken)
    with caplog.at_level(logging.ERROR):
        response = acme.client.get(f"/api/v1/agents/{acme.agent.pk}")
    assert response.status_code == 500
    assert response.json()["error"]["code"] == "internal"
    assert "secret plan" not in response.content.decode()
    assert "secret plan" in caplog.text


def test_a_database_that_is_away_is_unavailable(
    acme: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: object) -> None:
        raise OperationalError("host=10.0.0.1 refused")

    monkeypatch.setattr("tenants.authentication.live_key", away)
    response = acme.client.get("/api/v1/agents")
    assert (response.status_code, response.json()["error"]["code"]) == (503, "unavailable")
    assert "10.0.0.1" not in response.content.decode()


@pytest.mark.parametrize("method", ["put", "patch", "delete", "options"])
def test_a_method_that_an_address_does_not_have_is_said_so(acme: World, method: str) -> None:
    response = getattr(acme.client, method)("/api/v1/agents")
    assert (response.status_code, response.json()["error"]["code"]) == (405, "method_not_allowed")


def test_head_answers_as_get_without_a_body(acme: World) -> None:
    response = acme.client.head("/api/v1/agents")
    assert (response.status_code, response.content) == (200, b"")


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/v1/agents/", "/api/v2/agents"])
def test_an_address_of_nothing_is_not_found_in_json(acme: World, path: str) -> None:
    response = acme.client.get(path)
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "nonsense"])
def test_the_api_speaks_json_whatever_is_asked_for(acme: World, accept: str) -> None:
    response = acme.client.get("/api/v1/agents", headers={"Accept": accept})
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")


# The documentation


def schema() -> dict[str, Any]:
    written = io.StringIO()
    call_command(
        "spectacular", "--validate", "--fail-on-warn", "--format", "openapi-json", stdout=written
    )
    return json.loads(written.getvalue())


def test_the_schema_is_valid_and_complete() -> None:
    document = schema()
    assert len(document["paths"]) >= 13
    assert set(document["components"]["securitySchemes"]) == {"bearer", "header"}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], (path, method)
            assert operation["security"] == [{"bearer": []}, {"header": []}], (path, method)
            assert {"401", "403"} <= set(operation["responses"]), (path, method)


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [
        operation["operationId"]
        for operations in schema()["paths"].values()
        for operation in operations.values()
    ]
    assert len(set(names)) == len(names)


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in schema()["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation


def test_no_operation_is_described_by_a_docstring_made_for_programmers() -> None:
    described = {name: operation.get("description", "") for name, operation in operations()}
    said = [text for text in described.values() if text]
    assert len(said) == len(set(said)) >= 15
    for name, text in described.items():
        assert "boundary" not in text and "A view" not in text, name


def test_every_form_is_filled_with_what_may_be_sent() -> None:
    """Swagger makes up a value, `string`, for text without an example or a default."""
    components = schema()["components"]["schemas"]
    bodies = 0
    for name, operation in operations():
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            bodies += 1
            if kind == "application/json":
                assert content["examples"], name
                continue
            form = components[content["schema"]["$ref"].rsplit("/", 1)[1]]
            for field, shape in form["properties"].items():
                is_file = shape.get("format") == "binary"
                assert is_file or "default" in shape or "example" in shape, (name, field)
    assert bodies >= 5


def test_a_report_is_described_field_by_field(acme: World) -> None:
    schemas = schema()["components"]["schemas"]
    assert schemas["Document"]["properties"]["report"]["allOf"][0]["$ref"].endswith("/Report")
    assert {"pages_without_text", "warnings", "duplicates"} <= set(schemas["Report"]["properties"])


def test_the_schema_is_served(db: None) -> None:
    assert Client().get("/api/schema/").status_code == 200


def test_the_documentation_page_needs_nothing_from_elsewhere(db: None) -> None:
    page = Client().get("/api/docs/")
    assert page.status_code == 200
    loaded = re.findall(r"""(?:src|href)=["']([^"']+)["']""", page.content.decode())
    assert len(loaded) >= 3
    for address in loaded:
        assert address.startswith("/static/"), address
        assert finders.find(address.removeprefix("/static/")), address


def guide() -> str:
    return (settings.BASE_DIR / "docs" / "api.md").read_text()


def test_the_guide_names_only_codes_and_statuses_that_exist() -> None:
    real = {(refusal.status, refusal.code) for refusal in subclasses(DolphyError)}
    rows = re.findall(r"^\| (\d{3}) \| (.*?) \|", guide(), re.MULTILINE)
    assert len(rows) >= 10
    for status, codes in rows:
        for code in re.findall(r"`(\w+)`", codes):
            assert (int(status), code) in real, code


# Raised where no caller of the API sees them, or never by themselves.
UNTOLD = {
    "error": "the root of all errors, and of what a crawl keeps apart",
    "quota": "the kinds of it are told",
    "bad_limit": "the API names the field: invalid_input",
    "unknown_fusion": "the API names the field: invalid_input",
    "unknown_language": "agents are made in the admin and by command",
    "embedded_unavailable": "the server does not start",
    "job_lost": "a worker tells itself",
    "sync_lost": "a worker tells itself",
    "fetch_failed": "the kinds of it are told",
    "sign_in_needed": "the operator's page",
    "staff_only": "the operator's page",
}
OF_COMMANDS = (
    "ingestion.fill",
    "ingestion.reembed",
    "retrieval.benchmark",
    "retrieval.evaluation",
    "tests",
)


def test_the_guides_name_every_code_that_there_is() -> None:
    told = guide() + (settings.BASE_DIR / "docs" / "websites.md").read_text()
    served = (one for one in subclasses(DolphyError) if not one.__module__.startswith(OF_COMMANDS))
    missing = {one.code for one in served if f"`{one.code}`" not in told}
    assert missing <= set(UNTOLD), missing - set(UNTOLD)


def test_the_guide_calls_only_addresses_that_exist() -> None:
    calls = re.findall(r'curl [^\n]*?"\$DOLPHY/([^"?]+)', guide())
    assert len(calls) >= 13
    for path in calls:
        resolve("/api/v1/" + re.sub(r"\$\w+", "00000000-0000-0000-0000-000000000000", path))


@pytest.mark.parametrize("name", [r"\ud800", r"a\udfff"])
def test_a_refusal_that_repeats_what_is_no_text_spells_it(acme: World, name: str) -> None:
    body = f'{{"question": "iade", "{name}": 1}}'
    address = f"/api/v1/agents/{acme.agent.pk}/search"
    response = acme.client.post(address, body, content_type="application/json")
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid_input"
    assert name in response.json()["error"]["fields"]


@pytest.mark.parametrize("charset", ["idna", "unicode_escape", "utf-16"])
def test_only_utf8_is_read(acme: World, charset: str) -> None:
    agent = f"/api/v1/agents/{acme.agent.pk}"
    form = b'--X\r\nContent-Disposition: form-data; name="title"\r\n\r\nx\r\n--X--\r\n'
    kinds = [
        ("POST", "documents", form, "multipart/form-data; boundary=X"),
        ("POST", "search", b"{}", "application/json"),
        ("GET", "documents?limit=1", b"x", "text/plain"),
    ]
    answers = [
        acme.client.generic(method, f"{agent}/{path}", body, f"{kind}; charset={charset}")
        for method, path, body, kind in kinds
    ]
    assert [answer.status_code for answer in answers] == [400] * 3
    assert {answer.json()["error"]["code"] for answer in answers} == {"malformed"}
