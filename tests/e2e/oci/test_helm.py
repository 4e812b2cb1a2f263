"""bin/image publish pushes the chart with Helm itself, here into a Larder, and Helm pulls it from there."""

import base64
import json
import re

import pytest

from tests.builders.publishing import DIGEST, Checkout
from tests.live import Live
from tests.programs import HELM

pytestmark = [pytest.mark.live, pytest.mark.needs("git", "helm")]


def test_a_published_chart_is_pulled_and_names_its_image(plain: Live, tmp_path) -> None:
    """With the credentials that `docker login` leaves, as in the pipelines. Helm asks the loopback address without TLS.

    Four parts: a repository of three is a module in a Larder.
    """
    checkout = Checkout(tmp_path)
    (checkout.programs / "helm").unlink()
    (checkout.programs / "helm").symlink_to(HELM)
    token = plain.token()
    with plain.client(token) as client:
        client.put("/api/v1/namespaces/kitchen", json={"visibility": "private"}).raise_for_status()
    auths = {plain.host: {"auth": base64.b64encode(f"ci:{token}".encode()).decode()}}
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker" / "config.json").write_text(json.dumps({"auths": auths}))
    variables = {"REGISTRY": f"{plain.host}/kitchen/images", "HOME": str(tmp_path)}

    done = checkout.run(**variables)
    assert done.returncode == 0, done.stderr
    signed = [line for line in checkout.asked if line.startswith("cosign sign ") and "/charts/" in line]
    assert len(signed) == 1
    assert re.search(rf" {plain.host}/kitchen/images/charts/larder@sha256:[0-9a-f]{{64}} ", signed[0])

    chart = f"oci://{plain.host}/kitchen/images/charts/larder"
    words = ("template", chart, "--version", "1.2.0", "--set", "publicUrl=https://registry.acme.example")
    rendered = checkout.run("helm", *words, **variables)
    assert rendered.returncode == 0, rendered.stderr
    assert f'image: "{plain.host}/kitchen/images/larder@{DIGEST}"' in rendered.stdout
