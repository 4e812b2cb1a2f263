from datetime import UTC, datetime, timedelta

from apps.blobs import capabilities
from tests.rows import for_each_row

NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)
DIGEST, NAME = "a" * 64, "vpc-aws-1.2.0.zip"


def sign(now: datetime = NOON) -> str:
    return capabilities.sign(digest=DIGEST, file_name=NAME, now=now)


def opens(segment: str, now: datetime = NOON, digest: str = DIGEST, file_name: str = NAME) -> bool:
    return capabilities.verify(segment, digest=digest, file_name=file_name, now=now)


def test_it_opens_for_the_lifetime_and_up_to_five_minutes_longer():
    for seconds in (0, 1, 60, 299, 300, 301):
        now = NOON + timedelta(seconds=seconds)
        segment = sign(now)
        ends = next(lived for lived in range(1500) if not opens(segment, now + timedelta(seconds=lived)))
        assert 15 * 60 <= ends <= 20 * 60
        assert (now + timedelta(seconds=ends)).timestamp() % 300 == 0


def test_one_document_serves_five_minutes_of_requests():
    assert len({sign(NOON + timedelta(seconds=second)) for second in range(1, 301)}) == 1


def test_the_lifetime_is_a_setting(settings):
    settings.ARCHIVE_URL_LIFETIME = timedelta(hours=2)

    assert opens(sign(), NOON + timedelta(minutes=119))


def test_it_opens_nothing_else():
    assert not opens(sign(), digest="b" * 64)
    assert not opens(sign(), file_name="vpc-aws-1.2.1.zip")


@for_each_row(
    "segment", ["", ".", "a.b", "\0", "x" * 9999, f"-1.{'A' * 43}", f"ٱ.{'A' * 43}", f"zzzzzzzzzz.{'A' * 43}"]
)
def test_nonsense_opens_nothing(segment):
    assert not opens(segment)


def test_a_later_expiry_needs_its_own_signature():
    now = sign().partition(".")
    later = sign(NOON + timedelta(hours=1)).partition(".")

    assert not opens(f"{later[0]}.{now[2]}")


def test_a_retired_secret_key_still_counts_and_a_removed_one_does_not(settings):
    old = sign()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new" * 20, [settings.SECRET_KEY]
    assert opens(old)
    assert sign() != old
    settings.SECRET_KEY_FALLBACKS = []
    assert not opens(old)
