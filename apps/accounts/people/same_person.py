"""Tell whether two accounts belong to one person: they share an identity of a provider or a mail address, now or
before.

Addresses are confirmed before an account has them, and compared without regard to letter case.
"""

from collections.abc import Collection

from allauth.socialaccount.models import SocialAccount
from django.db.models import Q

from apps.accounts.identity import marks
from apps.accounts.models import PastIdentity, User


def remember_identity(user: User, *, provider: str, uid: str) -> None:
    """Call it before an identity is taken from the account, in the same transaction."""
    PastIdentity.objects.get_or_create(user=user, provider=provider, uid=uid[:191])


def remember_address(user: User) -> None:
    """Call it before the address of the account is replaced, in the same transaction."""
    address = User.objects.filter(pk=user.pk).values_list("email", flat=True).first()
    if address:
        remember_identity(user, provider=PastIdentity.MAIL, uid=address.lower())


def accounts_of(user: User) -> set[int]:
    """Return the numbers of the accounts of this person, this one among them. Machines have no identity."""
    if user.is_service:
        return {user.pk}
    mine = set(PastIdentity.objects.filter(user=user).values_list("provider", "uid"))
    mine |= set(SocialAccount.objects.filter(user=user).values_list("provider", "uid"))
    addresses = {uid for provider, uid in mine if provider == PastIdentity.MAIL}
    if user.email:
        addresses.add(user.email.lower())
        mine.add((PastIdentity.MAIL, user.email.lower()))
    if not mine:
        return {user.pk}
    pairs = Q(pk__in=[])
    for provider, uid in mine:
        pairs |= Q(provider=provider, uid=uid)
    found = {user.pk, *PastIdentity.objects.filter(pairs).values_list("user", flat=True)}
    found.update(SocialAccount.objects.filter(pairs).values_list("user", flat=True))
    if addresses:
        same = Q(pk__in=[])
        for address in addresses:
            same |= Q(email__iexact=address)
        found.update(User.objects.filter(same, is_service=False).values_list("pk", flat=True))
    return found


def marks_of(accounts: Collection[int]) -> set[str]:
    """Return the marks of all identities and addresses of these accounts, now or before.

    A subject that is an address, as many providers send it, counts as that too.
    """
    pairs = set(PastIdentity.objects.filter(user__in=accounts).values_list("provider", "uid"))
    pairs |= set(SocialAccount.objects.filter(user__in=accounts).values_list("provider", "uid"))
    mails = User.objects.filter(pk__in=accounts).exclude(email="").values_list("email", flat=True)
    found = {marks.of_address(address) for address in mails}
    for provider, uid in pairs:
        if provider != PastIdentity.MAIL:
            found |= {marks.of_subject(provider, uid), marks.of_subject(marks.ANYWHERE, uid)}
        if "@" in uid:
            found.add(marks.of_address(uid))
    return found
