"""Change files that have checksums, as an earlier version or a forger would have written them."""

import json

from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from gssl.io.models import FORMAT


def without_checksums(data):
    """Return an object without its own checksum and those of other data."""
    return {name: value for name, value in data.items() if name not in ("checksums", "crc")}


def rewrite_json(path, **changes):
    """Change fields of an object in a file, and remove its checksums."""
    data = without_checksums(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(data | changes), encoding="utf-8")


def strip_model(path):
    """Remove the checksums of a saved model."""
    with safe_open(path, framework="np") as stored:
        text = json.dumps(without_checksums(json.loads(stored.metadata()[FORMAT])))
    save_file(load_file(path), path, {FORMAT: text})
