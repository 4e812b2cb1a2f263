"""Skeletons: at least fifty look-alikes of known names are found, and a thousand real names stay apart."""

from pathlib import Path

from apps.lib.addresses import canonical, check_namespace, skeleton
from tests.rows import for_each_row

# Namespaces of public registries: owners of providers, and scopes of npm by their number of packages.
REAL = (Path(__file__).parent / "real_namespaces.txt").read_text().split()
LOOK_ALIKES = {
    "acme": "ac-me acne acrne Acrne ACNE a-c-m-e ac_me ac-rne 4cme acm3 acn3 AC-ME",
    "hall": "ha11 hal1 ha1l haIl haII hai1 h-a-ll ha-ii ha_11 h4ll HA11",
    "hashicorp": "hashlcorp hash1corp hashic0rp hashi-corp hashicoprp hash1c0rp ha5hicorp hasbicorp",
    "google": "g00gle goog1e googie gooqle goo9le g0ogle g-oogle goog-le",
    "microsoft": "rnicrosoft micr0soft microsott nicrosoft m1crosoft mlcrosoft micro-soft micro5oft",
    "cloudflare": "doudflare c1oudflare cloudf1are cloudfiare cloud-flare cl0udflare cloudflar3",
    "wiz-sec": "vviz-sec wizsec w1z-sec wlz_sec wi2-sec vv1z5ec wiz-s3c",
    "modern": "modem rnodern mod-ern m0dern modenn",
    "web8": "webb vveb8 w3b8",
    "zoo7": "2oo7 z007 zoot",
}
# What is another word, and no look-alike.
OTHERS = {("hashicorp", "hashicoprp"), ("hashicorp", "hasbicorp"), ("microsoft", "microsott"), ("modern", "modenn")}
PAIRS = [(name, other) for name, others in LOOK_ALIKES.items() for other in others.split()]


@for_each_row(("name", "other"), PAIRS)
def test_a_look_alike_has_the_skeleton_of_the_name(name, other):
    assert (skeleton(name) == skeleton(other)) == ((name, other) not in OTHERS)


def test_there_are_fifty_look_alikes_or_more():
    assert len(set(PAIRS) - OTHERS) >= 50


def test_no_two_of_a_thousand_real_names_look_alike():
    by_skeleton: dict[str, list[str]] = {}
    for name in REAL:
        check_namespace(name)
        assert skeleton(canonical(name)) == skeleton(name)
        by_skeleton.setdefault(skeleton(name), []).append(name)

    assert len({canonical(name) for name in REAL}) == 1000
    assert [alike for alike in by_skeleton.values() if len(alike) > 1] == []


@for_each_row("form", ["team{}", "squad-{}", "v{}", "zone-1-{}"])
def test_numbered_names_stay_apart(form):
    assert len({skeleton(form.format(number)) for number in range(10)}) == 10
