"""The official Inspector in CLI mode against two examples, over stdio and HTTP, in both generations.

    inspector.py FOLIO EXAMPLES

Runs `mcp-inspector --cli`, one process for each request, and the Inspector's `mcpdo`, which holds a connection while
the example is edited. Both are found on PATH, with the Node that they need before them.
"""

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager

from served import SOON, add_prompt, add_tool, check, edit, example, names, over_http

ERAS = ("legacy", "modern")
START = "handbook://guide/start.md"


def run(*command):
    """A program's exit status, and what it printed as JSON, be it an answer or an error."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    try:
        return done.returncode, json.loads(done.stdout)
    except json.JSONDecodeError:
        # An error stands in the last line of stderr, after what the server said.
        return done.returncode, done.stdout + done.stderr


def asker(era, target):
    """A function that sends one request with a process of its own."""
    target = ["--server-url", target] if isinstance(target, str) else ["--", *target]

    def ask(method, *options):
        command = ["mcp-inspector", "--cli", "--protocol-era", era, "--format", "json", "--method", method]
        code, answer = run(*command, *options, *target)
        return code, answer.get("result", answer) if isinstance(answer, dict) else answer

    return ask


def answered(ask, method, *options):
    code, answer = ask(method, *options)
    check(" ".join((method, *options)), code == 0, answer)
    return answer


def refused(ask, word, method, *options):
    code, answer = ask(method, *options)
    check(f"{' '.join((method, *options))} is refused", code != 0 and word in str(answer), f"exit status {code}: {answer}")


def hello(era, target, folder):
    ask = asker(era, target)
    prompts = answered(ask, "prompts/list")["prompts"]
    check("one prompt", names(prompts) == ["greet"], names(prompts))
    got = answered(ask, "prompts/get", "--prompt-name", "greet", "--prompt-args", "who=Ada")
    check("its text", got["messages"][0]["content"]["text"] == "Say hello to Ada.", got["messages"])
    refused(ask, "`who` is required", "prompts/get", "--prompt-name", "greet")
    add_prompt(folder)
    until("the new prompt", lambda: names(answered(ask, "prompts/list")["prompts"]), lambda saw: "farewell" in saw)


def docs(era, target, folder):
    ask = asker(era, target)
    listed = names(answered(ask, "resources/list")["resources"], "uri")
    check("the pages", START in listed, listed)
    templates = names(answered(ask, "resources/templates/list")["resourceTemplates"], "uriTemplate")
    check("the templates", {"file:///{path}", "logs://recent{?timeframe}"} <= set(templates), templates)
    tools = answered(ask, "tools/list", "--strict")["tools"]
    check("the tool", names(tools) == ["search-handbook"], names(tools))
    contents = answered(ask, "resources/read", "--uri", START)["contents"]
    check("a page", contents[0]["text"] == (folder / "guide/start.md").read_text(), contents)
    contents = answered(ask, "resources/read", "--uri", "handbook-assets://flow.png")["contents"]
    check("bytes", base64.b64decode(contents[0]["blob"]) == (folder / "assets/flow.png").read_bytes(), contents)
    contents = answered(ask, "resources/read", "--uri", "logs://recent?timeframe=24h")["contents"]
    check("what a script said", contents[0]["text"] != "", contents)
    refused(ask, "guide/none.md", "resources/read", "--uri", "handbook://guide/none.md")
    found = answered(ask, "tools/call", "--tool-name", "search-handbook", "--tool-arg", "text=the")
    check("what was found", "guide/" in found["content"][0]["text"], found["content"])
    got = answered(ask, "prompts/get", "--prompt-name", "ask-handbook", "--prompt-args", "question=How?")
    kinds = [message["content"]["type"] for message in got["messages"]]
    check("its messages", kinds == ["text", "resource", "resource_link", "text"], kinds)

    follow(era, target, folder)
    tools = answered(ask, "tools/list", "--strict")["tools"]
    check("the new tool", sorted(names(tools)) == ["count", "search-handbook"], names(tools))
    answer = answered(ask, "tools/call", "--tool-name", "count", "--tool-arg", "upTo=3")
    check("its answer", answer["structuredContent"] == {"upTo": 3}, answer)


def until(what, see, holds):
    """Asks again until the answer is right."""
    end = time.monotonic() + SOON
    while not holds(saw := see()) and time.monotonic() < end:
        time.sleep(0.05)
    check(what, holds(saw), saw)


@contextmanager
def held(era, target):
    """A connection that is held by a daemon of its own: a function that sends a request over it."""
    # The short path is for the daemon's socket, whose name may not be long.
    with tempfile.TemporaryDirectory(prefix="mcpdo-", dir="/tmp") as daemon:
        os.environ["MCP_INSPECTOR_DAEMON_DIR"] = daemon
        mcpdo = ("mcpdo", "--format", "json")
        target = ["--server-url", target] if isinstance(target, str) else ["--", *target]
        try:
            code, answer = run(*mcpdo, "--connection", "desk", "connect", "--era", era, *target)
            check("a connection is made", code == 0 and answer["protocolEra"] == era, answer)
            yield lambda *request: run(*mcpdo, "--connection", "desk", *request)
        finally:
            run("mcpdo", "daemon", "stop")


@contextmanager
def subscription(uri):
    """What comes for a resource over the connection that is held, line by line."""
    command = ["mcpdo", "--format", "json", "--connection", "desk", "resources/subscribe", uri]
    with tempfile.TemporaryFile("w+") as said, subprocess.Popen(command, stdout=said, stderr=said) as stream:
        def heard():
            return os.pread(said.fileno(), 1 << 20, 0).decode()
        try:
            until("a subscription begins", heard, lambda saw: '"subscribed"' in saw)
            yield heard
        finally:
            stream.terminate()
            stream.wait(SOON)


def follow(era, target, folder):
    """Sees edits of `docs` over one connection."""
    with held(era, target) as ask:
        with subscription(START) as heard:
            edit(folder / "guide/start.md", "# Start\n", "# The start\n")
            until("word of the changed page", heard, lambda saw: '"resources/updated"' in saw and START in saw)
        code, answer = ask("resources/read", START)
        check("the changed page", code == 0 and answer["contents"][0]["text"].startswith("# The start\n"), answer)
        (folder / "guide/new.md").write_text("# New\n")
        new = "handbook://guide/new.md"
        until("the new page", lambda: ask("resources/list"), lambda saw: saw[0] == 0 and new in names(saw[1]["resources"], "uri"))
        add_tool(folder)
        until("the new tool", lambda: ask("tools/list"), lambda saw: saw[0] == 0 and "count" in names(saw[1]["tools"]))


def main(binary, examples):
    for era in ERAS:
        for name, session in (("hello", hello), ("docs", docs)):
            with example(examples, name) as folder:
                print(f"{name} over stdio, Inspector, {era}", flush=True)
                session(era, [binary, "serve", str(folder)], folder)
            with example(examples, name) as folder, over_http(binary, folder) as url:
                print(f"{name} over HTTP, Inspector, {era}", flush=True)
                session(era, url, folder)


if __name__ == "__main__":
    # When time is up the daemon is ended as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("it takes too long"))
    # The Inspector keeps its own files in the home folder: here they last as long as the run.
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HOME=home, MCP_INSPECTOR_SECRET_STORE="memory")
        main(*sys.argv[1:])
