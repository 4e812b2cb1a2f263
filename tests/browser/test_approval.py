"""Alice publishes, and cannot approve it. Bob looks at it in his own browser, and does."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import browsing, findings_in_both_themes, sign_in
from tests.builders.archives import module_zip
from tests.site.processes import eventually

pytestmark = pytest.mark.live
BEFORE = module_zip({"main.tf": 'variable "name" {\n  default = "x"\n}\n', "README.md": "# Orchard\n\nOld words.\n"})
AFTER = module_zip({"main.tf": 'variable "name" {}\n', "README.md": f"# Orchard\n\nNew words. {'long' * 60}\n"})
PEOPLE = """
from apps.accounts.models import Grant, Namespace, Role, User
space = Namespace.objects.get(name="vineyard")
for name in ("alice", "bob"):
    user = User.objects.create_user(f"{name}-vineyard", password=f"{name} likes pears")
    Grant.objects.create(namespace=space, user=user, role=Role.PUBLISHER)
"""


@pytest.fixture(scope="module")
def vineyard(live):
    """A namespace that requires approval; it has a version from before."""
    with live.client(live.token()) as client:
        client.put("/api/v1/namespaces/vineyard", json={"visibility": "private"}).raise_for_status()
    live.manage("shell", "--verbosity", "0", "-c", PEOPLE)
    live.publish("vineyard/apple/null", "1.0.0", BEFORE, live.token())
    with live.client(live.token()) as client:
        client.patch("/api/v1/namespaces/vineyard", json={"requires_approval": True}).raise_for_status()
    return "vineyard"


def send(live, version):
    """Alice's upload, once it awaits approval; answers its page."""
    with live.client(live.token("alice-vineyard", "publish")) as client:
        sent = client.put(f"/api/v1/modules/vineyard/apple/null/{version}", content=AFTER)
        url = f"/releases/{sent.json()['id']}"
        eventually(lambda: client.get(f"/api/v1{url}").json()["state"] == "awaiting-approval")
    return url


def browser_of(chromium, live, watch, name):
    state = sign_in(chromium, live, f"{name}-vineyard", f"{name} likes pears")
    return browsing(chromium, live, state, watch)


def test_bob_approves_what_alice_published_and_alice_cannot(chromium, live, vineyard, watch):
    watch.expect("status of 403")
    url = send(live, "1.1.0")

    with browser_of(chromium, live, watch, "alice") as open_:
        page = open_().new_page()
        page.goto(url)
        expect(page.get_by_text("You published it yourself: someone else has to decide.")).to_be_visible()
        expect(page.get_by_role("button", name="Approve and publish")).to_have_count(0)
        assert findings_in_both_themes(page) == []
        # As if she had the button.
        page.evaluate(
            """url => {
              const form = document.querySelector(`form[action="${url}/cancel"]`);
              form.action = `${url}/approve`;
              const digest = document.createElement("input");
              digest.name = "digest";
              digest.value = `sha256:${document.querySelector("[data-approval]").dataset.approval}`;
              form.append(digest);
            }""",
            url,
        )
        page.get_by_role("button", name="Cancel this release").click()
        expect(page.get_by_role("alert")).to_contain_text("You published it yourself")
        expect(page.locator("[data-state=awaiting-approval]")).to_have_count(1)

    with browser_of(chromium, live, watch, "bob") as open_:
        page = open_(viewport={"width": 320, "height": 900}).new_page()
        page.goto("/approvals")
        page.get_by_role("link", name="Review vineyard/apple/null").click()
        expect(page).to_have_url(re.compile(f"{url}$"))
        expect(page.locator("[data-rule=input_made_required]")).to_contain_text("name")
        page.locator("[data-file='README.md'] summary").click()
        expect(page.locator("[data-file='README.md']")).to_contain_text("Old words.")
        assert findings_in_both_themes(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == 320
        approve = page.get_by_role("button", name="Approve and publish")
        approve.focus()
        page.keyboard.press("Enter")
        expect(page.locator("[data-state=published]")).to_have_count(1)
        expect(page.get_by_text("By bob-vineyard.")).to_be_visible()
        page.goto("/modules/vineyard/apple/null/1.1.0")
        expect(page.get_by_role("heading", level=1)).to_contain_text("apple")


@pytest.mark.parametrize("scripts", [True, False], ids=["with-scripts", "without"])
def test_bob_declines_with_a_reason_that_alice_reads(chromium, live, vineyard, watch, scripts):
    url = send(live, "2.0.0")

    with browser_of(chromium, live, watch, "bob") as open_:
        page = open_(java_script_enabled=scripts).new_page()
        page.goto(url)
        page.get_by_label("Reason to decline").fill("The default was in use.")
        page.get_by_role("button", name="Decline").click()
        expect(page.get_by_text("the number 2.0.0 is free again")).to_be_visible()

    with browser_of(chromium, live, watch, "alice") as open_:
        page = open_().new_page()
        page.goto(url)
        expect(page.get_by_text("The default was in use").first).to_be_visible()
