"""Invalid manifests are refused with the reason and not stored."""

import base64
import json

import pytest

from apps.artifacts import manifest_format
from apps.artifacts.errors import ManifestInvalid
from tests.oci.manifests.documents import (
    IMAGE,
    INDEX,
    MODULE_PACKAGE,
    SBOM,
    code_of,
    descriptor,
    digest_of,
    image,
    index,
)
from tests.rows import for_each_row

DOCKER = "application/vnd.docker.distribution.manifest.v2+json"
LIST = "application/vnd.docker.distribution.manifest.list.v2+json"


def without(name):
    return json.dumps({key: value for key, value in json.loads(image()).items() if key != name}).encode()


def layer(**more):
    return image(layers=[descriptor(b"layer", "text/plain", **more)])


def refusal_of(raw, content_type=IMAGE):
    with pytest.raises(ManifestInvalid) as caught:
        manifest_format.parse(raw, content_type)
    return str(caught.value)


@for_each_row(
    ("raw", "says"),
    [
        pytest.param(b"", "is not valid JSON", id="empty"),
        pytest.param(b"\xff{}", "is not valid JSON", id="not UTF-8"),
        pytest.param(b"\xef\xbb\xbf{}", "is not valid JSON", id="byte order mark"),
        pytest.param(b"[]", "expected a JSON object", id="a list"),
        pytest.param(b'"text"', "expected a JSON object", id="text"),
        pytest.param(image() + b"{}", "is not valid JSON", id="two documents"),
        pytest.param(image()[:-1] + b',"config":{}}', "repeats the key 'config'", id="a key twice"),
        pytest.param(image(a={"b": 1}).replace(b'"b":1', b'"b":1,"b":2'), "repeats the key 'b'", id="twice, deeper"),
        pytest.param(image()[:-1] + b',"a":NaN}', "contains NaN", id="NaN"),
        pytest.param(image()[:-1] + b',"a":-Infinity}', "contains -Infinity", id="infinite"),
        pytest.param(b'{"a":' + b"[" * 2_000_000, "nested too deeply", id="depth bomb"),
        pytest.param(b'{"a":' * 150 + b"1" + b"}" * 150, "nested too deeply", id="deep enough for the next reader"),
        pytest.param(image()[:-1] + b',"a":' + b"9" * 5000 + b"}", "is not valid JSON", id="a number of 5000 digits"),
        pytest.param(without("schemaVersion"), "schemaVersion is missing", id="no schema version"),
        pytest.param(image(schemaVersion=1), "schemaVersion is 1", id="schema 1"),
        pytest.param(image(schemaVersion="2"), "schemaVersion is '2'", id="schema text"),
        pytest.param(image(schemaVersion=2.0), "schemaVersion is 2.0", id="schema float"),
        pytest.param(image(mediaType=INDEX), "but the manifest's mediaType is", id="media type differs"),
        pytest.param(image(mediaType=5), "mediaType is 5", id="media type a number"),
        pytest.param(image(artifactType="no type"), "artifactType is 'no type'", id="artifact type"),
        pytest.param(without("config"), "has no config", id="no config"),
        pytest.param(image(config=[]), "config is []", id="config a list"),
        pytest.param(image(manifests=[]), "but it has 'manifests'", id="both"),
        pytest.param(image(fsLayers=[]), "but it has 'fsLayers'", id="schema 1 inside"),
        pytest.param(image(layers={}), "layers is {}, expected an array", id="layers an object"),
        pytest.param(image(layers=[None]), "layers[0] is missing, expected a descriptor", id="layer null"),
        pytest.param(layer(digest="sha256:abc"), "layers[0].digest", id="digest short"),
        pytest.param(layer(digest=digest_of(b"layer").upper()), "layers[0].digest", id="digest upper case"),
        pytest.param(layer(digest=digest_of(b"layer") + "\n"), "layers[0].digest", id="digest with a line break"),
        pytest.param(layer(digest=None), "layers[0].digest is missing", id="no digest"),
        pytest.param(layer(digest=["x"]), "layers[0].digest is ['x']", id="digest a list"),
        pytest.param(layer(size=-1), "layers[0].size is -1", id="negative size"),
        pytest.param(layer(size=5.0), "layers[0].size is 5.0", id="size a float"),
        pytest.param(layer(size=True), "layers[0].size is True", id="size a truth"),
        pytest.param(layer(size=2**63), "layers[0].size is", id="size too large for a database"),
        pytest.param(layer(mediaType="text"), "layers[0].mediaType is 'text'", id="not a media type"),
        pytest.param(layer(mediaType="a/" + "b" * 200), "layers[0].mediaType is", id="long media type"),
        pytest.param(layer(urls="https://x"), "layers[0].urls is", id="urls as text"),
        pytest.param(layer(annotations={"a": 1}), "annotations of layers[0]", id="annotation a number"),
        pytest.param(image(annotations={"a": "\0"}), "not text", id="NUL"),
        pytest.param(image(annotations={"\ud800": ""}), "not text", id="half a surrogate pair"),
        pytest.param(image(annotations=["a"]), "not a map of text to text", id="annotations a list"),
        pytest.param(image(subject="sha256:x"), "subject is 'sha256:x'", id="subject a text"),
        pytest.param(layer(data="bGF5ZXI"), "layers[0].data is not the base64", id="data unpadded"),
        pytest.param(layer(data=base64.b64encode(b"other").decode()), "layers[0].data", id="data of something else"),
        pytest.param(layer(data=5), "layers[0].data", id="data a number"),
    ],
)
def test_what_is_no_manifest_is_refused_with_the_reason(raw, says):
    assert says in refusal_of(raw)


@for_each_row(
    ("raw", "says"),
    [
        pytest.param(json.dumps({"schemaVersion": 2, "mediaType": INDEX}).encode(), "has no manifests", id="nothing"),
        pytest.param(index(layers=[]), "but it has 'layers'", id="layers"),
        pytest.param(index(config=descriptor(b"{}", "a/b")), "but it has 'config'", id="config"),
        pytest.param(index(manifests=[{}]), "manifests[0].mediaType is missing", id="an empty descriptor"),
    ],
)
def test_what_is_no_index_is_refused_with_the_reason(raw, says):
    assert says in refusal_of(raw, INDEX)


@for_each_row(
    "content_type",
    [
        "application/json",
        "application/vnd.docker.distribution.manifest.v1+prettyjws",
        "application/vnd.oci.image.config.v1+json",
        "text/html",
        "\x00",
    ],
)
def test_other_media_types_are_refused_with_those_that_are_taken(content_type):
    raw = without("mediaType")
    assert IMAGE in refusal_of(raw, content_type)
    assert IMAGE in refusal_of(raw, "")


@for_each_row("media_type", [IMAGE, DOCKER])
def test_a_manifest_is_read(media_type):
    data = base64.b64encode(b"layer").decode()
    raw = image(
        layers=[descriptor(b"layer", "text/plain", data=data)],
        artifactType=SBOM,
        mediaType=media_type,
        unknown={"a": 1},
    )

    found = manifest_format.parse(raw, media_type + ' ; charset="utf-8"')

    assert (found.media_type, found.artifact_type, found.subject) == (media_type, SBOM, "")
    assert [str(one.digest) for one in found.blobs] == [digest_of(b"{}"), digest_of(b"layer")]
    assert not found.is_module_package


def test_lists_that_are_null_are_empty():
    """Go's clients write them so."""
    assert len(manifest_format.parse(image(layers=None, annotations=None, subject=None), IMAGE).blobs) == 1
    found = manifest_format.parse(index(manifests=None, mediaType=LIST), LIST)
    assert (found.blobs, found.children, found.artifact_type) == ((), (), "")


def test_only_an_image_manifest_is_a_module_package():
    assert manifest_format.parse(image(artifactType=MODULE_PACKAGE), IMAGE).is_module_package
    assert not manifest_format.parse(index(artifactType=MODULE_PACKAGE), INDEX).is_module_package


def test_a_refusal_reaches_the_client_and_leaves_nothing(repo):
    at = repo()
    at.blob(b"{}")

    answer = at.put(image()[:-1] + b',"config":{}}', "main", media_type=IMAGE)

    assert code_of(answer) == (400, "MANIFEST_INVALID")
    assert "repeats the key" in answer.json()["errors"][0]["message"]
    assert at.get("main").status_code == 404
    assert at.tags().json()["tags"] == []


@for_each_row(
    "tag", ["a b", "-a", ".a", "a" * 129, "ü", "a+b", "a%2Fb"], ids=["space", "dash", "dot", "129", "ü", "plus", "%2F"]
)
def test_a_tag_of_illegal_syntax_is_refused_on_a_push_and_not_there_on_a_read(repo, tag):
    at = repo()
    at.blob(b"{}")

    put, got = at.put(image(), tag), at.get(tag)

    if tag == "a%2Fb":  # a slash more is another address
        assert code_of(put) == code_of(got) == (404, "NAME_UNKNOWN")
    else:
        assert code_of(put) == (400, "MANIFEST_INVALID")
        assert code_of(got) == (404, "MANIFEST_UNKNOWN")
    assert code_of(at.put(image(), query="?tag=a%20b")) == (400, "MANIFEST_INVALID")
