import pytest


@pytest.mark.live
def test_a_codec_that_is_no_charset_is_ignored(live):
    """Django's own request raises LookupError before any middleware, and the connection ends without an answer."""
    with live.client() as client:
        answer = client.get("/v1/modules?limit=1", headers={"Content-Type": "text/plain; charset=rot13"})

    assert answer.status_code == 200
