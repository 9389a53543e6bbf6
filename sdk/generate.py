#!/usr/bin/env python3
"""Writes the types of all five SDKs from api/openapi.json.

    sdk/generate.py           write them
    sdk/generate.py --check   exit 1, and name the files, if one is not current

Only schemas that the SDKs' own operations use: a new family of the API changes nothing here until
FAMILIES names it. The standard library is all that it needs.
"""

import json
import keyword
import re
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONTRACT = HERE.parent / "api" / "openapi.json"

# Paths that have methods in the SDKs, and /v1/links and /v1/subscriptions, of which they have the types.
FAMILIES = (
    "/v1/status", "/v1/currencies", "/v1/estimate", "/v1/min-amount", "/v1/payment", "/v1/invoices/",
    "/v1/mass-payout", "/v1/evm-mass-payout", "/v1/nc-payout",
    "/v1/events", "/v1/webhooks/", "/v1/balance", "/v1/sandbox/",
    "/v1/links", "/v1/subscriptions",
)
# Bodies of webhooks, and what errors carry; no operation names them as its answer.
ALSO = (
    "PaymentNotice", "PayoutWebhook",
    "PayoutRowFault", "PayoutStanding", "PayoutQuoted",
    "NcOutputFault", "NcInputFault", "NcOtherField", "NcLack", "NcStanding",
)
# Sent by no SDK: a form carries what JSON and CSV carry too.
LEFT_OUT = {"NewPayoutForm"}

# Schemas that are no types of their own.
AMOUNTS = {"Amount", "AmountAsked", "WholeCoins"}
TEXTS = {"DecimalText", "SignedDecimalText", "RawAmount", "Instant", "WebAddress", "OptionalWebAddress"}
PLAIN = {"Null": "null", "True": "boolean", "False": "boolean", "Anything": "any", "Metadata": "object",
         "WholeNumber": "integer"}
SOURCE = "Made by sdk/generate.py from api/openapi.json; do not edit."


class Field:
    """One property: `kind` is a scalar's name, a schema's name, or ("list", kind)."""

    def __init__(self, name, kind, required, nullable, text):
        self.name, self.kind, self.required, self.nullable, self.text = name, kind, required, nullable, text


class Contract:
    def __init__(self, document):
        self.schemas = document["components"]["schemas"]
        self.operations = [
            operation
            for path, methods in document["paths"].items() if path.startswith(FAMILIES)
            for operation in methods.values()
        ]
        self.names = sorted(self._reachable() - LEFT_OUT - AMOUNTS - TEXTS - set(PLAIN))
        self.enums = {n: self._values(n) for n in self.names if self._is_text(n)}
        self.unions = {n: self.schemas[n] for n in self.names if n not in self.enums and "oneOf" in self.schemas[n]}
        self.objects = [n for n in self.names if n not in self.enums and n not in self.unions]

    def _reachable(self):
        start = [name for name in ALSO]
        for operation in self.operations:
            bodies = [operation.get("requestBody", {})]
            bodies += [answer for code, answer in operation["responses"].items() if code[0] == "2"]
            start += [n for body in bodies for n in references(body)]
        seen = set()
        while start:
            name = start.pop()
            if name not in seen:
                seen.add(name)
                start += references(self.schemas[name])
        return seen

    def _is_text(self, name):
        return self.schemas[name].get("type") == "string"

    def _values(self, name):
        schema = self.schemas[name]
        return [v for v in schema.get("enum") or schema.get("x-extensible-enum") or [] if v]

    def is_input(self, name):
        return name.startswith("New") or name in ("ConfirmPayout", "NcRefresh", "NcSubmission", "WebhookTest", "SandboxExpiry")

    def parent(self, name):
        """The schema that `name` extends, or None."""
        parts = self.schemas[name].get("allOf", [])
        return next((reference(p) for p in parts if "$ref" in p), None)

    def fields(self, name):
        """Fields of its own, without those of its parent."""
        schema = self.schemas[name]
        parts = [p for p in schema.get("allOf", [schema]) if "$ref" not in p]
        return [
            self._field(key, value, key in part.get("required", []))
            for part in parts for key, value in part.get("properties", {}).items()
        ]

    def _field(self, key, schema, required):
        nullable, inner = False, schema
        if "oneOf" in schema:
            real = [s for s in schema["oneOf"] if s.get("type") != "null"]
            nullable = len(real) < len(schema["oneOf"])
            inner = real[0] if len(real) == 1 else schema
        text = schema.get("description") or inner.get("description") or ""
        kind, also = self._kind(inner)
        return Field(key, kind, required, nullable or also, " ".join(text.split()))

    def _kind(self, schema):
        """The kind, and whether null is allowed."""
        if "$ref" in schema:
            name = reference(schema)
            if name in AMOUNTS:
                return "amount", False
            if name in TEXTS:
                return "string", False
            return PLAIN.get(name, name), name == "Null"
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        real = [k for k in kinds if k != "null"]
        if real == ["array"]:
            return ("list", self._kind(schema["items"])[0]), "null" in kinds
        if len(real) != 1 or real[0] not in ("string", "integer", "boolean", "object"):
            raise SystemExit(f"a shape that this generator does not know: {schema}")
        return real[0], "null" in kinds

    def amount_fields(self):
        """Names of properties that are JSON numbers and must keep their digits."""
        found = set()
        for name in self.objects:
            if not self.is_input(name):
                found |= {f.name for f in self.fields(name) if f.kind == "amount"}
        return sorted(found)

    def codes(self):
        found = set()
        for operation in self.operations:
            for status, answer in operation["responses"].items():
                if status[0] in "45":
                    found |= set(values(answer, "code")) | set(values(answer, "kind"))
        return sorted(found)

    def text(self, name):
        return " ".join(self.schemas[name].get("description", "").split())


def reference(schema):
    return schema["$ref"].rsplit("/", 1)[1]


def references(value):
    if isinstance(value, dict):
        own = [reference(value)] if "$ref" in value else []
        return own + [n for v in value.values() for n in references(v)]
    if isinstance(value, list):
        return [n for v in value for n in references(v)]
    return []


def values(value, key):
    """All values of enums at properties named `key`."""
    if isinstance(value, dict):
        own = value.get("properties", {}).get(key, {}).get("enum", []) if "properties" in value else []
        return own + [n for v in value.values() for n in values(v, key)]
    if isinstance(value, list):
        return [n for v in value for n in values(v, key)]
    return []


def comment(text, start, indent=""):
    """`text` as comment lines of at most 100 columns, each begun by `start`."""
    text = re.sub(r"\[(`\w+`)\]", r"\1", text)
    return [indent + start + line for line in textwrap.wrap(text, 100 - len(indent + start), break_long_words=False)]


def snake(name):
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


# --- TypeScript


def typescript(contract):
    def kind(of):
        if isinstance(of, tuple):
            return f"{kind(of[1])}[]"
        return {"amount": "string", "integer": "number", "any": "unknown", "object": "Record<string, unknown>"}.get(of, of)

    out = [f"// {SOURCE}", "",
           "/** Fields that are JSON numbers on the wire and exact decimal strings here. */",
           f"export const AMOUNT_FIELDS: ReadonlySet<string> = new Set({json.dumps(contract.amount_fields())});", "",
           "/** Codes of errors that this release knows; treat another as `INTERNAL_ERROR`. */",
           "export type ErrorCode ="]
    out += [f"  | '{code}'" for code in contract.codes()]
    out[-1] += ";"
    for name, known in contract.enums.items():
        out += [""] + block(contract.text(name), "")
        out += [f"export type {name} = {' | '.join(repr(v) for v in known)} | (string & {{}});"]
    for name in contract.unions:
        out += [""] + block(contract.text(name), "")
        out += [f"export type {name} = {' | '.join(kind(contract._kind(s)[0]) for s in contract.schemas[name]['oneOf'])};"]
    for name in contract.objects:
        parent = contract.parent(name)
        out += [""] + block(contract.text(name), "")
        out += [f"export interface {name}{f' extends {parent}' if parent else ''} {{"]
        for field in contract.fields(name):
            out += block(field.text, "  ")
            of = kind(field.kind) + (" | null" if field.nullable and field.kind != "null" else "")
            out += [f"  {field.name}{'' if field.required else '?'}: {of};"]
        out += ["}"]
    return "\n".join(out) + "\n"


def block(text, indent):
    if not text:
        return []
    if len(text) + len(indent) + 7 <= 100:
        return [f"{indent}/** {text} */"]
    return [f"{indent}/**", *comment(text, " * ", indent), f"{indent} */"]


# --- Python


def python(contract):
    def kind(of):
        if isinstance(of, tuple):
            return f"List[{kind(of[1])}]"
        return {"amount": "Decimal", "string": "str", "integer": "int", "boolean": "bool", "null": "None",
                "any": "Any", "object": "Dict[str, Any]"}.get(of, of)

    out = [f'"""Types of the API. {SOURCE}"""', "", "from __future__ import annotations", "",
           "from decimal import Decimal", "from typing import Any, Dict, List, Optional, TypedDict, Union", "",
           "# Fields that are JSON numbers: always Decimal, also when they have no fraction."]
    out += listed("AMOUNT_FIELDS = frozenset((", contract.amount_fields(), "))", "    ")
    out += ["", "# Codes of errors that this release knows; treat another as INTERNAL_ERROR."]
    out += listed("ERROR_CODES = frozenset((", contract.codes(), "))", "    ")
    for name, known in contract.enums.items():
        out += ["", *comment(f"{' '.join(known)}: {contract.text(name)}", "# "), f"{name} = str"]
    order = sorted(contract.objects, key=lambda n: (depth(contract, n), n))
    for name in order:
        parent = contract.parent(name)
        own = contract.fields(name)
        base = parent or "TypedDict"
        required = [f for f in own if f.required]
        optional = [f for f in own if not f.required]
        if any(keyword.iskeyword(f.name) for f in own):
            out += ["", "", *comment(contract.text(name) or name, "# "), f'{name} = TypedDict("{name}", {{']
            out += [f'    "{f.name}": "{kind(f.kind)}",' for f in own]
            out += ["})" if required else "}, total=False)"]
            continue
        if required and optional:
            out += ["", "", f"class _{name}Required({base}):", *python_fields(required, kind)]
            base = f"_{name}Required"
        total = "" if required or not optional else ", total=False"
        out += ["", "", f"class {name}({base}{', total=False' if optional else total}):"]
        out += [f'    """{line}' if at == 0 else f"    {line}" for at, line in enumerate(textwrap.wrap(contract.text(name) or name, 92))]
        out[-1] += '"""'
        out += [""] + python_fields(optional or required, kind)
    for name in contract.unions:
        kinds = ", ".join(kind(contract._kind(s)[0]) for s in contract.schemas[name]["oneOf"])
        out += ["", "", *comment(contract.text(name), "# "), f"{name} = Union[{kinds}]"]
    return "\n".join(out) + "\n"


def depth(contract, name):
    parent = contract.parent(name)
    return 0 if parent is None else 1 + depth(contract, parent)


def python_fields(fields, kind):
    out = []
    for field in fields:
        out += comment(field.text, "# ", "    ")
        of = kind(field.kind)
        if field.nullable and of != "None":
            of = f"Optional[{of}]"
        out += [f"    {field.name}: {of}"]
    return out or ["    pass"]


def listed(before, items, after, indent):
    return [before, *(f'{indent}"{item}",' for item in items), after]


# --- PHP


def php(contract):
    def kind(of):
        if isinstance(of, tuple):
            return f"list<{kind(of[1])}>"
        return {"amount": "string", "integer": "int", "boolean": "bool", "any": "mixed",
                "object": "array<string, mixed>"}.get(of, "string" if of in contract.enums else of)

    out = ["<?php", "", f"// {SOURCE}", "", "declare(strict_types=1);", "", "namespace Gateway\\Sdk;", "", "/**",
           " * Shapes of the API's arrays, for `@phpstan-import-type` and editors. Amounts are exact decimal",
           " * strings. Ignore keys and values that you do not know; more may come.", " *"]
    for name in contract.unions:
        kinds = "|".join(kind(contract._kind(s)[0]) for s in contract.schemas[name]["oneOf"])
        out += [f" * @phpstan-type {name} {kinds}"]
    for name in sorted(contract.objects, key=lambda n: (depth(contract, n), n)):
        chain, at = [], name
        while at:
            chain, at = contract.fields(at) + chain, contract.parent(at)
        out += [f" * @phpstan-type {name} array{{"]
        for field in chain:
            of = kind(field.kind) + ("|null" if field.nullable and field.kind != "null" else "")
            out += [f" *   {field.name}{'' if field.required else '?'}: {of},"]
        out += [" * }"]
    out += [" */", "final class Contract", "{",
            "    /** Fields that are JSON numbers on the wire and exact decimal strings here. */",
            *listed("    public const AMOUNT_FIELDS = [", contract.amount_fields(), "    ];", "        "), "",
            "    /** Codes of errors that this release knows; treat another as INTERNAL_ERROR. */",
            *listed("    public const ERROR_CODES = [", contract.codes(), "    ];", "        "), "}"]
    return "\n".join(out) + "\n"


# --- Go


def go(contract):
    def kind(of):
        if isinstance(of, tuple):
            return f"[]{kind(of[1])}"
        plain = {"amount": "Amount", "integer": "int64", "boolean": "bool", "null": "json.RawMessage",
                 "any": "json.RawMessage", "object": "json.RawMessage"}
        return plain.get(of, "json.RawMessage" if of in contract.unions else of)

    out = [f"// Code generated by sdk/generate.py from api/openapi.json. DO NOT EDIT.", "", "package gateway", "",
           'import "encoding/json"', "",
           "// ErrorCodes are those that this release knows; treat another as INTERNAL_ERROR.",
           *listed("var ErrorCodes = []string{", contract.codes(), "}", "\t")]
    for name, known in contract.enums.items():
        out += ["", *comment(f"{name}: {contract.text(name) or 'a filter.'}", "// "), f"type {name} string"]
        if known:
            width = max(len(name + pascal(v)) for v in known)
            out += ["", "const ("]
            out += [f'\t{name + pascal(v):<{width}} {name} = "{v}"' for v in known]
            out += [")"]
    for name in contract.objects:
        out += ["", *comment(f"{name}: {contract.text(name) or 'part of the API.'}", "// "), f"type {name} struct {{"]
        if contract.parent(name):
            out += [f"\t{contract.parent(name)}"]
        rows = []
        for field in contract.fields(name):
            said = comment(field.text, "// ", "\t")
            if said:
                out += go_rows(rows) + said
                rows = []
            of = kind(field.kind)
            if of != "json.RawMessage" and not of.startswith("[]"):
                is_object = field.kind in contract.objects
                optional = not field.required or field.nullable
                if optional and (is_object or not contract.is_input(name)):
                    of = f"*{of}"
            tag = field.name + ("" if field.required else ",omitempty")
            rows.append((pascal(field.name), of, f'`json:"{tag}"`'))
        out += go_rows(rows) + ["}"]
    return "\n".join(out) + "\n"


def go_rows(rows):
    """Fields without a comment between them, aligned as gofmt does."""
    names, kinds = (max((len(row[at]) for row in rows), default=0) for at in (0, 1))
    return [f"\t{name:<{names}} {of:<{kinds}} {tag}" for name, of, tag in rows]


def pascal(name):
    words = [w for w in re.split("[^a-z0-9]+", snake(name)) if w]
    initials = {"id": "ID", "ids": "IDs", "url": "URL", "uri": "URI", "usd": "USD", "ipn": "IPN", "csv": "CSV"}
    return "".join(initials.get(w, w[0].upper() + w[1:]) for w in words)


# --- Rust


def rust(contract, belongs):
    def kind(of):
        if isinstance(of, tuple):
            return f"Vec<{kind(of[1])}>"
        return {"amount": "Amount", "string": "String", "integer": "i64", "boolean": "bool", "null": "()",
                "any": "Box<RawValue>", "object": "Box<RawValue>"}.get(of, "String" if of in contract.enums else of)

    out = [f"//! {SOURCE}", "", "use serde::{Deserialize, Serialize};"]
    body = []
    for name in filter(belongs, contract.objects):
        if contract.parent(name) == "PaymentIpn" or name in ("PaymentIpn", "PaymentDetail", "NoticePart"):
            continue
        fields = contract.fields(name)
        if name == "Payment":
            fields += contract.fields("PaymentDetail")
        is_input = contract.is_input(name)
        body += ["", *comment(contract.text(name) or "A part of the API.", "/// ")]
        derived = "Debug, Clone, Serialize, Deserialize" + (", Default" if is_input else "")
        body += [f"#[derive({derived})]"]
        if any(snake(f.name) != f.name for f in fields):
            body += ['#[serde(rename_all = "camelCase")]']
        body += [f"pub struct {name} {{"]
        for field in fields:
            body += comment(field.text, "/// ", "    ")
            of = kind(field.kind)
            if field.nullable or not field.required:
                of = f"Option<{of}>"
            attributes = []
            rust = {"type": "kind", "_gateway": "gateway"}.get(field.name, snake(field.name))
            if field.name in ("type", "_gateway"):
                attributes.append(f'rename = "{field.name}"')
            if not field.required:
                attributes += ["default", 'skip_serializing_if = "Option::is_none"']
            if attributes:
                body += [f"    #[serde({', '.join(attributes)})]"]
            body += [f"    pub {rust}: {of},"]
        body += ["}"]
    used = "\n".join(body)
    if "RawValue" in used:
        out += ["use serde_json::value::RawValue;"]
    # Types of the other files.
    others = [n for n in contract.objects if not belongs(n) and re.search(rf"\b{n}\b", re.sub(r"///.*", "", used))]
    hand = [n for n in ("Amount", *contract.unions) if re.search(rf"[<: ]{n}\b[>,]", used)]
    if others or hand:
        names = sorted(others + hand)
        out += ["", f"use super::{names[0]};" if len(names) == 1 else f"use super::{{{', '.join(names)}}};"]
    return "\n".join(out + body) + "\n"


def rust_codes(contract):
    out = [f"//! {SOURCE}", "", "/// Codes of errors that this release knows; treat another as `INTERNAL_ERROR`."]
    return "\n".join(out + listed("pub const ERROR_CODES: &[&str] = &[", contract.codes(), "];", "    ")) + "\n"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    contract = Contract(json.loads(CONTRACT.read_text(encoding="utf-8")))
    nc = lambda name: name.startswith(("Nc", "NewNc"))
    payout = lambda name: not nc(name) and ("Payout" in name or name == "Quote")
    event = lambda name: name.startswith(("Event", "NewEvent", "Webhook", "Sandbox", "NewSandbox", "Balance", "PaymentDeposit"))
    link = lambda name: "Till" in name or name.startswith(("PaymentLink", "NewPaymentLink", "Subscription", "Renewal", "Donation"))
    written = {
        "typescript/src/contract.ts": lambda: typescript(contract),
        "python/src/gateway_sdk/contract.py": lambda: python(contract),
        "php/src/Contract.php": lambda: php(contract),
        "go/contract.go": lambda: go(contract),
        "rust/src/contract/event.rs": lambda: rust(contract, event),
        "rust/src/contract/payment.rs": lambda: rust(contract, lambda n: not any(of(n) for of in (nc, payout, event, link))),
        "rust/src/contract/link.rs": lambda: rust(contract, link),
        "rust/src/contract/payout.rs": lambda: rust(contract, payout),
        "rust/src/contract/nc_payout.rs": lambda: rust(contract, nc),
        "rust/src/contract/codes.rs": lambda: rust_codes(contract),
    }
    stale = []
    for path, make in written.items():
        file, text = HERE / path, make()
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        stale.append(path)
        if "--check" not in sys.argv:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            print(f"wrote sdk/{path}")
    if stale and "--check" in sys.argv:
        sys.exit(f"run sdk/generate.py: the contract has changed since {', '.join(stale)} was made")


if __name__ == "__main__":
    main()
