"""YAML without tags of its own, keys that are not text, and two values for one key."""

from typing import Any

import yaml

from apps.lib.errors import Invalid


class _Loader(yaml.SafeLoader):
    """Calls `_mapping` for each mapping.

    Not CSafeLoader, which is five times as fast: deep nesting ends its process.
    """


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    loader.flatten_mapping(node)
    found: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise Invalid(f"Line {key_node.start_mark.line + 1}: the key {key!r} is not text.", hint="Quote it.")
        if key in found:
            raise Invalid(f"Line {key_node.start_mark.line + 1}: {key!a} is there twice.", hint="Keep one of them.")
        found[key] = loader.construct_object(value_node, deep=True)
    return found


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def load(text: str) -> Any:
    """Return what the file has, or an empty dict. Raises Invalid, with the place of the mistake."""
    try:
        return yaml.load(text, _Loader) or {}  # noqa: S506  # a SafeLoader
    except yaml.constructor.ConstructorError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise Invalid(f"Line {line}: a tag or an alias that a file cannot have ({error.problem}).") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"Line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise Invalid(
            f"{where}the file is not YAML: {getattr(error, 'problem', None) or getattr(error, 'reason', error)}."
        ) from None
    except RecursionError:
        raise Invalid("The file is nested too deeply, or contains itself.") from None
