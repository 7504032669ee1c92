"""Bundles of `folio export mcpb`, as the program of those who define them reads them: each must pass `mcpb validate`, be
unpacked by `mcpb unpack`, and serve from where it was unpacked, started as its manifest says.

    mcpb.py FOLIO EXAMPLES MODULES

MODULES is the folder with `node_modules`, in which `@anthropic-ai/mcpb` is installed.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from served import Failed, check, example

# Some that say their version, and the variables that their users give.
EXAMPLES = {
    "docs": {}, "notes": {}, "team-pack": {}, "web-api": {},
}
SOON = 240.0
VERSION = "2025-11-25"


def run(*words, cwd=None):
    """A program's exit status, and what it prints."""
    ran = subprocess.run(words, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SOON)
    return ran.returncode, ran.stdout + ran.stderr


def stripped(binary, folder):
    """The program without what is for debuggers, which takes long to compress."""
    path = folder / "folio"
    code, said = run("strip", "-o", str(path), binary)
    if code != 0:
        raise Failed(f"strip: {said}")
    return path


def expand(text, folder, given):
    """A value of a manifest, as a host expands it; what its user did not give stays."""
    text = text.replace("${__dirname}", str(folder))
    for name, value in given.items():
        text = text.replace("${user_config." + name + "}", value)
    return text


def ask(manifest, folder, given):
    """What an unpacked server lists, started as its manifest says and with nothing else."""
    config = manifest["server"]["mcp_config"]
    words = [expand(word, folder, given) for word in [config["command"], *config["args"]]]
    env = {name: expand(value, folder, given) for name, value in config["env"].items()}
    env |= {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    hello = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 2, "method": "prompts/list"},
    ]
    text = "".join(json.dumps(message) + "\n" for message in messages)
    ran = subprocess.run(words, input=text, env=env, cwd="/", capture_output=True, text=True, timeout=SOON)
    answers = {}
    for line in ran.stdout.splitlines():
        message = json.loads(line)
        answers[message.get("id")] = message.get("result", message.get("error"))
    if 0 not in answers:
        raise Failed(f"no answer: {ran.stderr}")
    names = lambda number, key: sorted(one["name"] for one in (answers.get(number) or {}).get(key, []))
    return names(1, "tools"), names(2, "prompts")


def test(name, examples, binary, program, mcpb):
    """One example."""
    with example(examples, name) as folder, tempfile.TemporaryDirectory() as scratch:
        written = Path(scratch) / f"{name}.mcpb"
        code, said = run(binary, "export", "mcpb", "-o", str(written), "-f", str(folder), "--program", str(program))
        check(f"{name}: it is exported", code == 0, said.strip().splitlines()[-1] if said.strip() else said)
        unpacked = Path(scratch) / "unpacked"
        code, said = run(mcpb, "unpack", str(written), str(unpacked))
        check(f"{name}: `mcpb unpack` takes it", code == 0, said.strip()[-160:])
        code, said = run(mcpb, "validate", str(unpacked / "manifest.json"))
        check(f"{name}: `mcpb validate` takes it", code == 0, said.strip()[-400:])
        manifest = json.loads((unpacked / "manifest.json").read_text())
        given = {key: option.get("default", "a-value-for-tests") for key, option in manifest.get("user_config", {}).items()}
        tools, prompts = ask(manifest, unpacked, given | EXAMPLES[name])
        check(f"{name}: it serves its tools", tools == sorted(one["name"] for one in manifest.get("tools", [])), tools)
        check(f"{name}: it serves its prompts", prompts == sorted(one["name"] for one in manifest.get("prompts", [])), prompts)


def main(binary, examples, modules):
    mcpb = str(Path(modules) / "node_modules/.bin/mcpb")
    with tempfile.TemporaryDirectory() as scratch:
        program = stripped(binary, Path(scratch))
        for name in EXAMPLES:
            test(name, examples, binary, program, mcpb)
    print("all bundles are valid, and serve")


if __name__ == "__main__":
    main(*sys.argv[1:])
