"""Reads the identity providers of LARDER_SIGN_ON_FILE, or those of the variables that it replaces."""

from django.core.exceptions import ImproperlyConfigured

from apps.lib.errors import Invalid
from apps.lib.settings_values.identity_providers import FILE, SECRETS, IdentityProvider, SignOnFile
from registry_site import env

Kinds = tuple[type[IdentityProvider], ...]

# Those of the file whose room LARDER_WITHOUT leaves out, each with the prefix of its kind.
ignored: dict[str, str] = {}


def read(kinds: Kinds, left_out: Kinds = ()) -> tuple[IdentityProvider, ...]:
    found, before = _of_file(kinds, left_out), _of_variables(kinds)
    if found and before and set(found) != set(before):
        olds = " and ".join(dict.fromkeys(f"{one.prefix}_PROVIDERS" for one in before))
        raise ImproperlyConfigured(f"{olds} and {FILE} have different identity providers: keep the file")
    for part in ("id", "issuer"):
        seen = [getattr(one, part) for one in found or before]
        if twice := [value for value in seen if seen.count(value) > 1]:
            raise ImproperlyConfigured(f"Two identity providers have the {part} {twice[0]}: expected different ones.")
    return found or before


def _of_file(kinds: Kinds, left_out: Kinds) -> tuple[IdentityProvider, ...]:
    content = env.content_of(FILE, env.text(FILE))
    if not content:
        return ()
    from apps.lib.formats import strict_yaml  # only here: most installations have no such file

    with env.stopping(FILE):
        file = SignOnFile.parse(strict_yaml.load(content), (*kinds, *left_out))
        ignored.update({id_: kind.prefix for kind in left_out for id_ in file.leave_out(kind)})
        return file.providers(env.content_of(f"secrets_file of {FILE}", file.secrets_file))


def _of_variables(kinds: Kinds) -> tuple[IdentityProvider, ...]:
    """Read LARDER_OIDC_PROVIDERS=corp=https://… and the variables with more about each."""
    found: list[IdentityProvider] = []
    for kind in kinds:
        values = {
            part: env.or_old(f"{word} in {FILE}", "", f"{kind.prefix}_{part}")[1] for part, word in kind.words.items()
        }
        if SECRETS in values:
            values[SECRETS] = env.content_of(f"{kind.prefix}_{SECRETS}", values[SECRETS])
        try:
            found += kind.parse_all(values)
        except Invalid as error:
            raise ImproperlyConfigured(f"{error} {error.hint}".strip()) from None
    return tuple(found)
