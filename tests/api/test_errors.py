import json

from django.test import Client

from tests.rows import for_each_row

PATHS = ["namespaces/acme", "modules/acme/vpc/aws/1.0.0", "releases/00000000-0000-0000-0000-000000000000"]


@for_each_row("path", PATHS)
@for_each_row("authorization", ["", "Bearer nonsense"])
def test_401_says_how_to_make_a_token(acme, path, authorization):
    response = Client(headers={"Authorization": authorization} if authorization else {}).get(f"/api/v1/{path}")
    error = json.loads(response.content)["error"]

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="Larder"'
    assert list(error) == ["code", "message", "hint", "reasons"]
    assert error["code"] == "unauthenticated"
    assert "/tokens" in error["hint"]


@for_each_row(
    ("method", "path", "body", "status"),
    [
        ("put", "namespaces/acme", "no JSON", 400),
        ("get", "audit", "", 403),
        ("get", "teams/nope", "", 404),
        ("post", "tokens/0", "", 405),
        ("delete", "namespaces/acme/grants/users/dora", "", 409),
        ("put", "namespaces/acme", "{" + " " * 2_000_000 + "}", 413),
        ("put", "namespaces/acme", '{"visibility": "odd"}', 422),
        ("get", "nothing", "", 404),
    ],
)
def test_each_error_has_one_shape_and_the_request_id(tofu, dora, method, path, body, status):
    answer = getattr(tofu(dora), method)(f"/api/v1/{path}", body or None, content_type="application/json")

    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    assert list(answer.json()["error"]) == ["code", "message", "hint", "reasons"]
    assert len(answer.headers["X-Request-Id"]) > 8


@for_each_row("path", PATHS)
def test_head_answers_as_get_without_a_body(tofu, olga, published, path):
    release = published("acme/vpc/aws", "1.0.0")
    path = path.replace("00000000-0000-0000-0000-000000000000", str(release.public_id))
    response = tofu(olga).head(f"/api/v1/{path}")

    assert (response.status_code, response.content) == (200, b"")


def test_answers_are_for_the_asker_alone_and_too_many_parameters_are_a_bad_request(tofu, dora):
    headers = tofu(dora).get("/api/v1/namespaces/acme").headers
    assert headers["Cache-Control"] == "private, no-cache"
    assert headers["Vary"] == "Authorization"

    for path in ("/api/v1/modules/acme", "/v1/modules/", "/v2/_catalog"):
        assert tofu(dora).get(f"{path}?{'a=b&' * 2000}").status_code in (400, 404), path


def test_a_backslash_before_u0000_is_text(tofu, dora):
    """An escaped backslash: six characters, and no NUL."""
    body = r'{"visibility": "private", "description": "a \\u0000 b \ud83e\udd80"}'
    response = tofu(dora).put("/api/v1/namespaces/acme", body, content_type="application/json")

    assert response.json()["description"] == r"a \u0000 b 🦀"
