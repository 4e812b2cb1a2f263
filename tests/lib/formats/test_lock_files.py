"""Lock files. The mirror's own tests compare with real clients."""

import time
from contextlib import suppress
from unicodedata import normalize

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.lib.errors import Invalid
from apps.lib.formats.lock_files import (
    MAX_HASHES,
    Client,
    LockedProvider,
    LockFile,
    client_of,
    parse_lock,
    parse_source,
)
from apps.lib.hcl.texts import MAX_BYTES
from apps.lib.mirrored import HostedProvider
from apps.lib.provider_constraints import Constraints
from tests.rows import for_each_row

LOCK = """\
# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "localhost:8443/acme/tool" {
  version = "1.0.0-beta1"
}

provider "registry.opentofu.org/hashicorp/random" {
  version     = "3.5.1"
  constraints = "~> 3.0, != 3.5.0"
  hashes = [
    "h1:VSnd9ZIPyfKHOObuQCaKfnjIHRtR7qTw19Rz8tJxm+k=",
    "h2:later",
    "x:a $${b} \\"c\\"",
    "zh:04e3fbd610cb52c1017d282531364b9c53ef72b6bc533acb2a90671957324a64",
  ]
}
"""
RANDOM = HostedProvider("registry.opentofu.org", "hashicorp", "random")


def block(inside, address="registry.opentofu.org/hashicorp/random"):
    return f'provider "{address}" {{\n{inside}\n}}\n'


def test_a_lock_file_is_written_as_it_was_read():
    read = parse_lock(LOCK)
    assert str(read) == LOCK
    assert read.providers[RANDOM].version == "3.5.1"
    assert 'x:a ${b} "c"' in read.providers[RANDOM].hashes
    assert str(parse_lock(LOCK.replace("\n", "\r\n"))) == LOCK


def test_comments_other_order_and_duplicates_are_normalised():
    text = """/* mine */
    provider "registry.opentofu.org/hashicorp/random" { # x
      hashes = ["zh:b", "h1:a", // y
        "zh:b"]
      constraints = "~> 3.0"
      version = "3.5.1"
    }
    module "later" {
      anything { at = all }
    }
    """
    locked = parse_lock(text).providers[RANDOM]
    assert locked == LockedProvider("3.5.1", Constraints.parse("~> 3.0"), frozenset({"h1:a", "zh:b"}))
    assert '"h1:a",\n    "zh:b",\n' in str(parse_lock(text))


def test_the_client_is_that_of_the_first_comment():
    assert client_of(LOCK) is Client.TOFU
    terraform = LOCK.replace("tofu init", "terraform init")
    assert client_of(terraform) is Client.TERRAFORM
    assert str(parse_lock(terraform)) == terraform
    assert client_of('provider "x" {}\n# "terraform init"') is None
    assert str(parse_lock("")) == "\n".join(LOCK.splitlines()[:2]) + "\n"


hosts = st.sampled_from(["registry.terraform.io", "bücher.example", "localhost:8443", "a.example"])
names = st.lists(st.text("abz09", min_size=1, max_size=4), min_size=1, max_size=3).map("-".join)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
hashes = st.frozensets(texts.map(lambda text: normalize("NFC", f"h:{text}")))
providers = st.dictionaries(
    st.builds("{}/{}/{}".format, hosts, names, names),
    st.builds(
        LockedProvider,
        st.sampled_from(["0.0.1", "1.2.3", "10.0.0-rc.1", "1.0.0+b"]),
        st.sampled_from(["", "~> 3", ">= 1, < 2, != 1.5", "1.0.0-rc1"]).map(Constraints.parse),
        hashes,
    ),
    max_size=5,
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow])  # the first text takes a second on a busy machine
@given(providers, st.sampled_from(Client))
def test_what_is_written_is_read_back(found, client):
    given_ = {parse_source(address, default_host=""): locked for address, locked in found.items()}
    written = str(LockFile(client, given_))
    again = parse_lock(written)
    assert str(again) == written
    assert again.client == client
    assert {one: (row.version, str(row.constraints)) for one, row in again.providers.items()} == {
        one: (row.version, str(row.constraints)) for one, row in given_.items()
    }


@given(st.text(alphabet='provider "a/b/c" {version=1.0,hashes[]}\n#', max_size=150))
def test_any_text_is_read_or_refused(text):
    message = ""
    try:
        parse_lock(text)
    except Invalid as refused:
        message = str(refused)
    assert len(message) < 400


@for_each_row(
    ("text", "part"),
    [
        (block(""), "Line 1: found no version of registry.opentofu.org/hashicorp/random"),
        (block("version = 1"), "Line 2: found version = a number, expected a quoted text"),
        (block('version = "1.0"'), "Line 2: found the version '1.0'"),
        (block('version = "01.0.0"'), "Use 1.0.0."),
        (block('version = "1.0.0"\nconstraints = ">= 1"'), "expected their normal form '>= 1.0.0'"),
        (block('version = "1.0.0"\nconstraints = "=> 1"'), "Line 3"),
        (block('version = "1.0.0"\nhashes = []'), "Line 3: found hashes = an empty list"),
        (block('version = "1.0.0"\nhashes = "h1:a"'), "Line 3: found hashes = a text"),
        (block('version = "1.0.0"\nhashes = [1]'), "Line 3: found a number in hashes"),
        (block('version = "1.0.0"\nhashes = ["abc"]'), "Line 3: found the hash 'abc'"),
        (block('version = "1.0.0"\nhashes = [x()]'), "Line 3: found an expression in hashes"),
        (block('version = "1.0.0"\ncolour = "red"'), "Line 3: found the attribute colour"),
        (block('version = "1.0.0"\nhashes { }'), "Line 3: found the block hashes"),
        (block('version = "1.0.0"', "hashicorp/random"), "Line 1: found the provider 'hashicorp/random'"),
        (block('version = "1.0.0"', "a.example/B/c"), "in lower case"),
        (block('version = "1.0.0"', "a.example:443/b/c"), "Line 1"),
        (block('version = "1.0.0"', "terraform.io/builtin/terraform"), "a part of the client"),
        (block('version = "1.0.0"') * 2, "Line 4: found the provider registry.opentofu.org/hashicorp/random a second"),
        ('resource "a" "b" {}', "Line 1: found the block resource"),
        ("provider {}", "with 0 labels"),
        ("a = 1", "the attribute a"),
        (block('version = "1.0.0"\nhashes = [' + '"h1:a",' * (MAX_HASHES + 1) + "]"), "5,001 hashes"),
        ("\0", "expected"),
        (block('version = "1.0.0\nhashes = ["h1:a"]'), "Line 2: found 'version = \"1.0.0', expected"),
        (block('version "1.0.0"'), "Line 2: found 'version \"1.0.0\"', expected name = value"),
        (block('version = "1.0.0" hashes = ["h1:a"]'), "a newline is missing"),
        (block('version = "1.0.0"\nhashes = [\n"h1:a",\n"h1:b"\n"h1:c",\n]'), "Line 6: found '\"h1:c\",', expected"),
        (
            block('version = "1.0.0"') + 'provider "a.example/b/c" {\n',
            "Line 4: found '{' without its end",
        ),
        (block('version = "1.0.0"\nversion = "1.0.0"'), "Line 3: found version a second time"),
        (block('version = "\\ud800"'), "Line 2"),
        ("<<<<<<< HEAD\n" + block('version = "1.0.0"'), "Line 1: found '<<<<<<< HEAD'"),
        ("a {" * 300, "more than 200 nested brackets"),
        ("#" * (MAX_BYTES + 1), "expected at most"),
        ("a = [" + "1," * 40_000 + "]", "words and marks"),
        ("a = a" + ".a" * 16_000, "points and brackets"),
    ],
)
def test_it_says_what_is_wrong_and_where(text, part):
    with pytest.raises(Invalid) as refused:
        parse_lock(text)
    assert part in f"{refused.value} {refused.value.hint}"


@pytest.mark.slow
@for_each_row(
    "piece",
    ["{", "[]", "()", '""', "${}", "<<A\n", "/*", "#\n}", "a=", "-", ".a", "x = /* ", " ", 'a="\\u', "a {}\n", "1,"],
)
def test_half_a_megabyte_takes_no_longer_than_it_should(piece):
    begin = time.process_time()
    for count in (500_000, 20_000):
        with suppress(Invalid):
            parse_lock(("a = [" if piece in ("1,", " ") else "") + piece * (count // len(piece)))
    assert time.process_time() - begin < 5


@for_each_row("namespace", ["openai_inc", "a__b", "a-b_c", "a_-b"])
def test_namespaces_may_have_underscores_as_terraform_1_16_takes_them(namespace):
    source = f"app.terraform.io/{namespace}/kube"
    assert str(parse_source(source.title(), default_host="")) == source
    lock = parse_lock(f'provider "{source}" {{\n  version = "1.0.0"\n}}\n')
    assert [str(one) for one in lock.providers] == [source]
