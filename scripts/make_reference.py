#!/usr/bin/python3
"""Writes the pages of docs/reference that follow from protos/: what each field of a configuration may hold, and what
clients say to a head. With --check it writes nothing, and fails where a page differs from what it would write.

    scripts/make_reference.py [--check]

The comments of the .proto files are the text, and their options (protos/options.proto) what a field may hold. A field of
the configuration without a comment is an error: nobody would know what it is for. Needs protoc and Debian's
python3-protobuf (scripts/install_deps.sh --tests).
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile

try:
    from google.protobuf import descriptor_pb2
except ImportError:
    sys.exit("make_reference.py: please install python3-protobuf, and run this with /usr/bin/python3")

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = "docs/reference"
F = descriptor_pb2.FieldDescriptorProto
TYPES = {
    F.TYPE_DOUBLE: "number",
    F.TYPE_FLOAT: "number",
    F.TYPE_INT32: "integer",
    F.TYPE_INT64: "integer",
    F.TYPE_UINT32: "integer",
    F.TYPE_UINT64: "integer",
    F.TYPE_BOOL: "truth value",
    F.TYPE_STRING: "text",
    F.TYPE_BYTES: "bytes",
}
# Messages that are not ours, and what they are to a user.
KNOWN = {"google.protobuf.Duration": "duration", "google.protobuf.Timestamp": "time"}
# Numbers of the fields of a file, a message, an enum and a service that hold their parts: steps of source locations.
FILE_MESSAGE, FILE_ENUM, FILE_SERVICE = 4, 5, 6
MESSAGE_FIELD, MESSAGE_NESTED, MESSAGE_ENUM = 2, 3, 4
ENUM_VALUE, SERVICE_METHOD = 2, 2

# How the comments of NodeService's rpcs for clients begin; its other rpcs are for nodes.
FOR_CLIENTS = "For clients: "

EDITED = "<!-- scripts/make_reference.py writes this page from %s. Change the comments and options there. -->"

CONFIGURATION = """# Every field of a configuration

%s

[configuration.md](../configuration.md) explains how configurations are written and what belongs together; this page lists every
field. An experiment is one [`ExperimentConfig`](#experimentconfig). What `serve --config` reads is a [`HeadConfig`](#headconfig).

A field that is not set has its default. Fields without a default may be left out, unless they are required. A list is a field that is
repeated, or in brackets: `gpu_indices: [0, 1]`. A duration is `{ seconds: 90 }` in protobuf text, `"90s"` in JSON. A text that
is a path may be relative to the configuration's folder, begin with `~`, or be [`data://NAME/sub`](../cluster.md#paths).
"""

SERVICE = """# What clients say to a head

%s

The rpcs of `lanista.v1.ExperimentService`, those of `lanista.v1.NodeService` that are for clients, and their messages, for clients in
other languages (the other rpcs of `NodeService` are for nodes: protos/node.proto). [cluster.md](../cluster.md#other-clients)
explains addresses, tokens and errors; [python.md](../python.md) is a client that is there. Documents in `json` are those that the
command line prints with `--json`: [cli.md](../cli.md#json). What `Watch` sends is an [`ExperimentEvent`](#experimentevent).
"""


class Mistake(Exception):
    """Something in protos/ that this program cannot make a page of; the text says what."""


def load(folder, protos):
    """The descriptors of these files and all that they import, with their comments, and the extension `rules`."""
    output = os.path.join(folder, "descriptors")
    subprocess.run(
        ["protoc", "-I", ROOT, "--include_imports", "--include_source_info", f"--descriptor_set_out={output}"]
        + [f"--python_out={folder}", *protos, "protos/options.proto"],
        check=True,
        cwd=ROOT,
    )
    sys.path.insert(0, folder)
    from protos import options_pb2  # pylint: disable=import-outside-toplevel,import-error

    files = descriptor_pb2.FileDescriptorSet()
    with open(output, "rb") as file:
        files.ParseFromString(file.read())
    return files, options_pb2.rules


class Schema:
    """Messages, enums and services of a set of files by their full names, with what their comments say."""

    def __init__(self, files, rules):
        self.rules = rules
        self.messages, self.enums, self.services = {}, {}, {}
        self.comments = {}
        for file in files.file:
            for location in file.source_code_info.location:
                self.comments[file.name, tuple(location.path)] = location.leading_comments
            for index, message in enumerate(file.message_type):
                self._add_message(file, message, "." + file.package, (FILE_MESSAGE, index))
            for index, enum in enumerate(file.enum_type):
                self._add_enum(file, enum, "." + file.package, (FILE_ENUM, index))
            for index, service in enumerate(file.service):
                self.services[service.name] = (service, file.name, (FILE_SERVICE, index))

    def _add_message(self, file, message, scope, path):
        name = f"{scope}.{message.name}"
        self.messages[name] = (message, file.name, path)
        for index, nested in enumerate(message.nested_type):
            self._add_message(file, nested, name, path + (MESSAGE_NESTED, index))
        for index, enum in enumerate(message.enum_type):
            self._add_enum(file, enum, name, path + (MESSAGE_ENUM, index))

    def _add_enum(self, file, enum, scope, path):
        self.enums[f"{scope}.{enum.name}"] = (enum, file.name, path)

    def comment(self, file, path):
        """The comment that stands before something, as one line."""
        return " ".join(self.comments.get((file, path), "").split())

    def reachable(self, roots):
        """Full names of messages and enums that these messages hold, in the order in which a reader meets them."""
        found, waiting = [], list(roots)
        while waiting:
            name = waiting.pop(0)
            if name in found:
                continue
            found.append(name)
            if name not in self.messages:
                continue
            below = []
            for field in self.messages[name][0].field:
                entry = self.map_entry(field)
                for inner in entry.field if entry else [field]:
                    if inner.type_name and inner.type_name.lstrip(".") not in KNOWN:
                        below.append(inner.type_name)
            # Beside the message that holds them.
            waiting = below + waiting
        return found

    def map_entry(self, field):
        """The message of the entries, if the field is a map."""
        if field.type != F.TYPE_MESSAGE or field.type_name not in self.messages:
            return None
        message = self.messages[field.type_name][0]
        return message if message.options.map_entry else None


def short(name):
    """What a message or an enum is called on a page: without the package."""
    return re.sub(r"^\.(lanista\.v1|google\.protobuf)\.", "", name)


def anchor(name):
    return re.sub(r"[^\w-]", "", short(name).lower())


def cell(text):
    """Text as a cell of a table."""
    return text.replace("|", "\\|").strip()


def number(value):
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e15 else repr(value)


def range_text(rule):
    """What a NumberRange lets through, in words."""
    low, high = rule.WhichOneof("low"), rule.WhichOneof("high")
    if low and high:
        if (low, high) == ("at_least", "at_most"):
            return f"from {number(rule.at_least)} to {number(rule.at_most)}"
        opening = {"at_least": "[", "above": "("}[low]
        closing = {"at_most": "]", "below": ")"}[high]
        return f"in {opening}{number(getattr(rule, low))}, {number(getattr(rule, high))}{closing}"
    words = {"at_least": "at least", "above": "above", "at_most": "at most", "below": "below"}
    bound = low or high
    return f"{words[bound]} {number(getattr(rule, bound))}" if bound else ""


class Page:
    """One page, whose parts link to each other."""

    def __init__(self, schema, names, everything_has_a_comment, elsewhere=()):
        self.schema = schema
        # What the page describes; and what configuration.md does.
        self.names = set(names)
        self.elsewhere = set(elsewhere)
        self.everything_has_a_comment = everything_has_a_comment
        self.lines = []

    def type_text(self, field):
        entry = self.schema.map_entry(field)
        if entry:
            return f"map: {self.type_text(entry.field[0])} to {self.type_text(entry.field[1])}"
        if field.type in TYPES:
            text = TYPES[field.type]
        elif field.type_name.lstrip(".") in KNOWN:
            text = KNOWN[field.type_name.lstrip(".")]
        elif field.type_name in self.names:
            text = f"[{short(field.type_name)}](#{anchor(field.type_name)})"
        elif field.type_name in self.elsewhere:
            text = f"[{short(field.type_name)}](configuration.md#{anchor(field.type_name)})"
        else:
            text = f"`{short(field.type_name)}`"
        return f"list of {text}" if field.label == F.LABEL_REPEATED else text

    @staticmethod
    def is_of_oneof(field):
        return field.HasField("oneof_index") and not field.proto3_optional

    def rules_text(self, field):
        """What the field's options let through."""
        rules = field.options.Extensions[self.schema.rules]
        parts = []
        if rules.HasField("range"):
            parts.append(range_text(rules.range))
        if rules.required and self.is_of_oneof(field):
            parts.append("not empty")
        if rules.path:
            parts.append("a path of the head" if rules.of_head else "a path")
        if rules.HasField("unique"):
            parts.append("no value twice")
        if rules.zero:
            parts.append(f"0: {rules.zero}")
        for rule in rules.not_with:
            others = " or ".join(f"`{name}`" for name in rule.field)
            parts.append(f"not together with {others}")
        return "; ".join(parts)

    def field_row(self, message_name, index, field):
        message, file, path = self.schema.messages[message_name]
        comment = self.schema.comment(file, path + (MESSAGE_FIELD, index))
        if not comment and field.type_name in self.schema.messages and field.type_name.lstrip(".") not in KNOWN:
            # One of several kinds: what it is stands above its message.
            _, its_file, its_path = self.schema.messages[field.type_name]
            comment = re.split(r"(?<=\.) ", self.schema.comment(its_file, its_path))[0]
        if not comment and self.everything_has_a_comment:
            raise Mistake(f"{file}: {message.name}.{field.name} has no comment that says what it is for")
        default = ""
        found = re.search(r"\s*Default: (.*?)\.(?=\s|$)", comment)
        if found:
            default = found[1]
            comment = comment[: found.start()] + comment[found.end() :]
        rules = field.options.Extensions[self.schema.rules]
        if rules.required and not self.is_of_oneof(field):
            default = "required"
        if rules.if_not_set:
            if_not_set = "true" if field.type == field.TYPE_BOOL else str(rules.if_not_set)
            if default and default != if_not_set:
                raise Mistake(
                    f"{file}: the comment of {message.name}.{field.name} says the default is {default}, its option"
                    f" if_not_set says {if_not_set}"
                )
            default = if_not_set
        cells = [f"`{field.name}`", self.type_text(field), self.rules_text(field), default, comment]
        return [cell(text) for text in cells]

    def table(self, header, rows):
        """A table without the columns that are empty in all rows."""
        kept = [i for i in range(len(header)) if any(row[i] for row in rows)]
        for row in [header, ["---"] * len(header), *rows]:
            self.lines.append("| " + " | ".join(row[i] for i in kept) + " |")
        self.lines.append("")

    def heading(self, name, file, path):
        self.lines += [f"## `{short(name)}`", ""]
        comment = self.schema.comment(file, path)
        if comment:
            self.lines += [comment, ""]

    def message(self, name):
        message, file, path = self.schema.messages[name]
        self.heading(name, file, path)
        if not message.field:
            self.lines += ["It has no fields.", ""]
            return
        for index, oneof in enumerate(message.oneof_decl):
            members = [
                f"`{field.name}`"
                for field in message.field
                if self.is_of_oneof(field) and field.oneof_index == index
            ]
            if len(members) > 1:
                self.lines += [f"Set one of {', '.join(members)}.", ""]
        rows = [self.field_row(name, index, field) for index, field in enumerate(message.field)]
        self.table(["field", "type", "allowed", "default", "meaning"], rows)

    def enum(self, name):
        enum, file, path = self.schema.enums[name]
        self.heading(name, file, path)
        rows = []
        for index, value in enumerate(enum.value):
            if not value.name.endswith("_UNSPECIFIED"):
                rows.append([f"`{value.name}`", cell(self.schema.comment(file, path + (ENUM_VALUE, index)))])
        self.table(["value", "meaning"], rows)

    def parts(self, names):
        for name in names:
            if name in self.schema.messages:
                self.message(name)
            else:
                self.enum(name)

    def text(self):
        return "\n".join(self.lines).rstrip("\n") + "\n"


def configuration_names(schema):
    return schema.reachable([".lanista.v1.ExperimentConfig", ".lanista.v1.HeadConfig"])


def configuration_page(schema):
    names = configuration_names(schema)
    page = Page(schema, names, everything_has_a_comment=True)
    page.lines += [CONFIGURATION % (EDITED % "protos/experiment.proto and graph.proto")]
    page.parts(names)
    return page.text()


def client_rpcs(schema):
    """The rpcs that clients may call, each with what it does."""
    for name in ("ExperimentService", "NodeService"):
        service, file, path = schema.services[name]
        for index, method in enumerate(service.method):
            comment = schema.comment(file, path + (SERVICE_METHOD, index))
            if not comment:
                raise Mistake(f"{file}: the rpc {method.name} has no comment that says what it does")
            if name == "ExperimentService" or comment.startswith(FOR_CLIENTS):
                text = comment[len(FOR_CLIENTS) :] if comment.startswith(FOR_CLIENTS) else comment
                yield name, method, text[0].upper() + text[1:]


def service_page(schema):
    rpcs = list(client_rpcs(schema))
    elsewhere = configuration_names(schema)
    asked_and_answered = [name for _, method, _ in rpcs for name in (method.input_type, method.output_type)]
    names = [name for name in schema.reachable(asked_and_answered) if name not in elsewhere]
    page = Page(schema, names, everything_has_a_comment=False, elsewhere=elsewhere)
    page.lines += [SERVICE % (EDITED % "protos/service.proto, node.proto and what they import"), "## The rpcs", ""]
    rows = []
    for service, method, comment in rpcs:
        asked, answered = (f"[{short(name)}](#{anchor(name)})" for name in (method.input_type, method.output_type))
        rows.append(
            [
                f"`{method.name}`" if service == "ExperimentService" else f"`{service}.{method.name}`",
                ("stream of " if method.client_streaming else "") + asked,
                ("stream of " if method.server_streaming else "") + answered,
                cell(comment),
            ]
        )
    page.table(["rpc", "takes", "answers", "does"], rows)
    page.parts(names)
    return page.text()


def main():
    arguments = argparse.ArgumentParser(description="Writes docs/reference from protos/.")
    arguments.add_argument("--check", action="store_true", help="write nothing; fail where a page would change")
    check = arguments.parse_args().check
    with tempfile.TemporaryDirectory() as folder:
        schema = Schema(*load(folder, ["protos/experiment.proto", "protos/service.proto", "protos/node.proto"]))
    pages = {"configuration.md": configuration_page(schema), "service.md": service_page(schema)}
    stale = False
    for name, text in pages.items():
        path = os.path.join(ROOT, FOLDER, name)
        try:
            with open(path, encoding="utf-8") as file:
                before = file.read()
        except FileNotFoundError:
            before = ""
        if before == text:
            continue
        stale = True
        if check:
            lines = difflib.unified_diff(before.splitlines(), text.splitlines(), name, "protos/", "", "", 0, "")
            print(f"{FOLDER}/{name} is not what protos/ says; run scripts/make_reference.py:", file=sys.stderr)
            print("\n".join(list(lines)[:20]), file=sys.stderr)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            print(f"wrote {FOLDER}/{name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Mistake as mistake:
        sys.exit(f"make_reference.py: {mistake}")
