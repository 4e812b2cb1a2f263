"""The message of an owner to the users of a version, as webhooks get it."""

import pytest
from django.utils import timezone

from apps.accounts.models import Namespace, User, Visibility
from apps.notify.models import Delivery, Webhook
from apps.releases.models import Lifecycle, Release
from tests import pages
from tests.portal.rows import add_module
from tests.portal.versions.test_notify_users import TEXT, URL, downloaded, send, written_to

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner(dora, browser_of):
    return browser_of(dora)


@pytest.fixture
def vpc(acme, settings):
    """Two versions, and a mail server that everybody can be reached by."""
    add_module(acme, "vpc/aws", "1.0.0", "2.0.0")
    Namespace.objects.filter(pk=acme.pk).update(visibility=Visibility.INTERNAL)
    Release.objects.filter(version="1.0.0").update(lifecycle=Lifecycle.DEPRECATED, lifecycle_at=timezone.now())
    settings.SMTP = {"host": "127.0.0.1", "port": 1}


def test_one_version_has_its_own_recipients_and_a_webhook_is_told(owner, vpc, acme, charlie, dora):
    downloaded(charlie, "2.0.0")
    User.objects.update(email="somebody@example.com")
    Webhook.objects.create(namespace=acme, url="https://hooks.example.com/", events=["usage.notified"], created_by=dora)

    assert send(owner, "2.0.0", "2.0.0").status_code == 303

    assert written_to() == ["charlie"]
    [delivery] = Delivery.objects.all()
    assert '"type":"usage.notified"' in delivery.body
    assert '"address":"acme/vpc/aws","version":"2.0.0"' in delivery.body
    assert f'"message":"{TEXT}"' in delivery.body
    assert "people" not in delivery.body
    assert owner.get(f"{URL}?version=3.0.0").status_code == 404


def test_without_a_mail_server_a_webhook_alone_gets_the_message(owner, vpc, acme, bob, dora, settings):
    settings.SMTP = None
    downloaded(bob, "1.0.0")
    assert "No webhook gets the message." in pages.shown(owner.get(URL))
    Webhook.objects.create(namespace=acme, url="https://hooks.example.com/", events=["usage.notified"], created_by=dora)
    assert "Send to 1 webhook" in pages.markup_of(owner.get(URL))
    answer = send(owner)
    assert "The message to 1 webhook is on its way." in pages.markup_of(owner.get(answer["Location"]))
    assert written_to() == []
    assert Delivery.objects.count() == 1
