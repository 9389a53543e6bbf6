"""Checks manifests against the schemas of Kubernetes: lint.py FILE..., exit 1 and one line per fault."""

import sys

import kubernetes_validate
import yaml


def documents(path):
    with open(path, encoding="utf-8") as file:
        for document in yaml.safe_load_all(file):
            yield from document["items"] if document["kind"] == "List" else [document]


faults = 0
for path in sys.argv[1:]:
    for document in documents(path):
        name = f"{path}: {document['kind']} {document['metadata']['name']}"
        try:
            kubernetes_validate.validate(document, "1.33", strict=True)
            print(f"{name}: fine")
        except kubernetes_validate.ValidationError as fault:
            faults += 1
            print(f"{name}: {'.'.join(str(part) for part in fault.path)}: {fault.message}")
sys.exit(faults > 0)
