"""docs/who-uses-what.md: a pipeline reports what init has installed."""

from pathlib import Path

import pytest

from tests import documents
from tests.e2e.pages import Registry
from tests.e2e.test_documents import USING, configuration
from tests.needs import CLIENTS

pytestmark = [pytest.mark.live, pytest.mark.needs("curl")]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_pipeline_reports_what_it_installed(example: Registry, tmp_path: Path, client: str) -> None:
    folder = configuration(USING, tmp_path / "work")
    test = "apps/contrib/reporting/tests/e2e/test_reporting_usage.py::test_a_pipeline_reports_what_it_installed"
    [fence] = documents.run_by(test, "docs/who-uses-what.md")
    tokens = dict.fromkeys(("LARDER_TOKEN", "TF_TOKEN_registry_example_com"), example.read)

    said = example.type(folder, fence.text, client, **tokens)

    for kind, address in (("module", "acme/vpc/aws"), ("provider", "acme/dns")):
        assert f'{{"kind":"{kind}","address":"{address}","version":"1.2.0"' in said
