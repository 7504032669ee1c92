"""The official Python SDK's client against four examples, over stdio and HTTP, in each generation that it speaks.

    python_sdk.py FOLIO EXAMPLES

Runs with mcp 1.12 and 2.x, whichever is installed: what differs between them is in `Peer` and `connect`.
"""

import asyncio
import base64
import os
import sys
import tempfile
import time
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from served import SOON, Failed, add_prompt, add_tool, check, edit, example, names, over_http

SDK = version("mcp")
MODERN = not SDK.startswith("1.")
if MODERN:
    import mcp_types as types
else:
    from mcp import types


def wire(value):
    """A model of the SDK as it stands on the wire."""
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)


class Peer:
    """A session, whichever the SDK: results as JSON, notices by their method."""

    def __init__(self):
        self.client = None
        self.notices = []
        self.logs = []
        self.asked = []
        self.answers = []
        self.stack = AsyncExitStack()

    async def heard(self, message):
        root = getattr(message, "root", message)
        if isinstance(root, Exception):
            raise root
        if hasattr(root, "method"):
            notice = wire(root)
            self.notices.append((notice["method"].removeprefix("notifications/"), (notice.get("params") or {}).get("uri")))

    async def elicit(self, _, params):
        """Shows a form: the answer is the next of those that were laid ready."""
        self.asked.append(wire(params))
        action, content = self.answers.pop(0)
        return types.ElicitResult(action=action, content=content)

    async def sample(self, _, params):
        self.asked.append(wire(params))
        said = types.TextContent(type="text", text=" In short. ")
        return types.CreateMessageResult(role="assistant", content=said, model="interop")

    async def roots(self, _):
        return types.ListRootsResult(roots=[types.Root(uri=self.uri("file:///work/desk"), name="Desk")])

    async def log(self, params):
        self.logs.append((params.level, params.logger, params.data))

    def callbacks(self):
        return {"message_handler": self.heard, "elicitation_callback": self.elicit, "sampling_callback": self.sample,
                "list_roots_callback": self.roots, "logging_callback": self.log}

    async def call(self, name, arguments, **named):
        """The text of a tool's answer, and whether it failed."""
        answer = await self.ask("call_tool", name, arguments, **named)
        return answer["content"][0]["text"], answer.get("isError", False)

    async def give_up(self, task):
        """Cancels the call that was made last."""
        if not MODERN:
            params = types.CancelledNotificationParams(requestId=self.client._request_id - 1, reason="enough")
            notice = types.CancelledNotification(method="notifications/cancelled", params=params)
            await self.client.send_notification(types.ClientNotification(notice))
        task.cancel()
        await asyncio.wait([task], timeout=SOON)

    async def ask(self, method, *arguments, **named):
        return wire(await asyncio.wait_for(getattr(self.client, method)(*arguments, **named), SOON))

    async def refused(self, method, *arguments):
        """The code and the message of an error."""
        try:
            answer = await self.ask(method, *arguments)
        except Exception as error:  # the SDKs' own classes, by their shape
            fault = getattr(error, "error", error)
            return getattr(fault, "code", None), str(getattr(fault, "message", error))
        raise Failed(f"{method}{arguments} was answered: {answer}")

    async def list(self, kind):
        key = "resourceTemplates" if kind == "resource_templates" else kind
        fresh = {"cache_mode": "refresh"} if MODERN else {}
        return (await self.ask(f"list_{kind}", **fresh))[key]

    async def read(self, uri):
        fresh = {"cache_mode": "refresh"} if MODERN else {}
        return (await self.ask("read_resource", self.uri(uri), **fresh))["contents"]

    def uri(self, uri):
        from pydantic import AnyUrl
        return uri if MODERN else AnyUrl(uri)

    async def complete(self, reference, argument, value):
        kinds = {"prompt": lambda name: types.PromptReference(type="ref/prompt", name=name),
                 "template": lambda uri: types.ResourceTemplateReference(type="ref/resource", uri=uri)}
        (kind, name), = reference.items()
        return (await self.ask("complete", kinds[kind](name), {"name": argument, "value": value}))["completion"]["values"]

    async def listen(self, uris):
        """Asks for word of every list and of these resources, in the manner of the generation."""
        if self.modern():
            wanted = self.client.listen(tools_list_changed=True, prompts_list_changed=True,
                                        resources_list_changed=True, resource_subscriptions=uris)
            await asyncio.wait_for(self.stack.enter_async_context(wanted), SOON)
        else:
            for uri in uris:
                await self.ask("subscribe_resource", self.uri(uri))

    def modern(self):
        return MODERN and self.client.protocol_version >= "2026"

    async def notice(self, method, uri=None, count=1):
        """Waits for a notice to come for the COUNTth time."""
        await self.until(f"notice {method}", lambda: self.notices.count((method, uri)) >= count, lambda: self.notices)

    async def until(self, what, holds, saw):
        end = time.monotonic() + SOON
        while not holds() and time.monotonic() < end:
            await asyncio.sleep(0.01)
        check(what, holds(), saw())


@asynccontextmanager
async def connect(target, errors, mode):
    """A session with a server: TARGET is its command or its address."""
    from mcp import StdioServerParameters
    peer = Peer()
    environment = {"DESK": os.environ["DESK"]}
    command = None if isinstance(target, str) else StdioServerParameters(command=target[0], args=target[1:], env=environment)
    async with AsyncExitStack() as stack:
        if MODERN:
            from mcp import Client
            from mcp.client.stdio import stdio_client
            server = stdio_client(command, errlog=errors) if command else target
            peer.client = await stack.enter_async_context(Client(server, mode=mode, log_level="debug", **peer.callbacks()))
        else:
            from mcp import ClientSession
            from mcp.client.stdio import stdio_client
            from mcp.client.streamable_http import streamablehttp_client
            streams = stdio_client(command, errlog=errors) if command else streamablehttp_client(target)
            read, write, *_ = await stack.enter_async_context(streams)
            peer.client = await stack.enter_async_context(ClientSession(read, write, **peer.callbacks()))
            await peer.client.initialize()
        async with peer.stack:
            yield peer


async def hello(peer, folder):
    check("prompts/list", names(prompts := await peer.list("prompts")) == ["greet"], prompts)
    check("its argument", prompts[0]["arguments"] == [{"name": "who", "required": True}], prompts[0]["arguments"])
    message = (await peer.ask("get_prompt", "greet", {"who": "Ada"}))["messages"]
    check("prompts/get", [m["content"]["text"] for m in message] == ["Say hello to Ada."], message)
    code, words = await peer.refused("get_prompt", "greet", {})
    check("an argument is missing", code == -32602 and "who" in words, f"{code} {words}")
    code, words = await peer.refused("get_prompt", "gret", {"who": "Ada"})
    check("a prompt is unknown", code == -32602 and "gret" in words, f"{code} {words}")

    await peer.listen([])
    add_prompt(folder)
    await peer.notice("prompts/list_changed")
    check("the new prompt is listed", sorted(names(await peer.list("prompts"))) == ["farewell", "greet"], names(await peer.list("prompts")))
    message = (await peer.ask("get_prompt", "farewell"))["messages"]
    check("and can be got", message[0]["content"]["text"] == "Say goodbye.", message)

    edit(folder / "folio.yaml", "Say hello to {{who}}.", "Greet {{who}} warmly.")
    end, text = time.monotonic() + SOON, ""
    while text != "Greet Ada warmly." and time.monotonic() < end:
        text = (await peer.ask("get_prompt", "greet", {"who": "Ada"}))["messages"][0]["content"]["text"]
    check("an edit of a text alone is live", text == "Greet Ada warmly.", text)
    edit(folder / "folio.yaml", "Say goodbye,", "Say farewell,")
    await peer.notice("prompts/list_changed", count=2)
    check("and was not announced", peer.notices == [("prompts/list_changed", None)] * 2, peer.notices)


async def docs(peer, folder):
    check("prompts/list", "ask-handbook" in names(await peer.list("prompts")), names(await peer.list("prompts")))
    start = "handbook://guide/start.md"
    listed = names(await peer.list("resources"), "uri")
    check("resources/list", start in listed and "handbook://guide/draft-backup.md" not in listed, listed)
    templates = names(await peer.list("resource_templates"), "uriTemplate")
    check("resources/templates/list", {"file:///{path}", "logs://recent{?timeframe}", "term://{name}"} <= set(templates), templates)
    check("tools/list", "search-handbook" in names(tools := await peer.list("tools")), names(tools))
    schema = next(tool for tool in tools if tool["name"] == "search-handbook")["inputSchema"]
    check("a tool's inputSchema", schema["required"] == ["text"] and schema["additionalProperties"] is False, schema)

    page = (folder / "guide/start.md").read_text()
    contents = await peer.read(start)
    check("resources/read of a file", contents[0]["text"] == page and contents[0]["mimeType"] == "text/markdown", contents)
    contents = await peer.read("handbook-assets://flow.png")
    check("of bytes", base64.b64decode(contents[0]["blob"]) == (folder / "assets/flow.png").read_bytes(), contents)
    contents = await peer.read("file:///app.py")
    check("of a template over files", contents[0]["text"] == (folder / "project/app.py").read_text(), contents)
    contents = await peer.read("logs://recent?timeframe=24h")
    check("of a template over a script", contents[0]["text"] and contents[0]["uri"] == "logs://recent?timeframe=24h", contents)
    code, words = await peer.refused("read_resource", peer.uri("handbook://guide/none.md"))
    check("of what is not there", code == (-32602 if peer.modern() else -32002), f"{code} {words}")

    messages = (await peer.ask("get_prompt", "ask-handbook", {"question": "How does it start?"}))["messages"]
    embedded = [m["content"]["resource"] for m in messages if m["content"]["type"] == "resource"]
    check("prompts/get with an embedded resource", names(embedded, "uri") == [start] and embedded[0]["text"] == page, messages)
    answer = await peer.ask("call_tool", "search-handbook", {"text": "the"})
    check("tools/call", not answer.get("isError") and "guide/" in answer["content"][0]["text"], answer)
    answer = await peer.ask("call_tool", "search-handbook", {"txt": "the"})
    check("tools/call with a wrong argument", answer["isError"] and "txt" in answer["content"][0]["text"], answer)
    code, words = await peer.refused("call_tool", "serch-handbook", {})
    check("a tool is unknown", code == -32602, f"{code} {words}")
    values = await peer.complete({"prompt": "ask-handbook"}, "page", "restart")
    check("completion/complete of a prompt", "guide/how-to/restart.md" in values, values)
    values = await peer.complete({"template": "term://{name}"}, "name", "ten")
    check("of a template", values == ["tenant"], values)

    await peer.listen([start])
    (folder / "guide/new.md").write_text("# New\n")
    await peer.notice("resources/list_changed")
    listed = names(await peer.list("resources"), "uri")
    check("the new file is listed", "handbook://guide/new.md" in listed, listed)
    check("and can be read", (contents := await peer.read("handbook://guide/new.md"))[0]["text"] == "# New\n", contents)
    (folder / "guide/start.md").write_text(page + "\nMore.\n")
    await peer.notice("resources/updated", start)
    check("the changed file", (contents := await peer.read(start))[0]["text"] == page + "\nMore.\n", contents)
    add_tool(folder)
    await peer.notice("tools/list_changed")
    check("the new tool is listed", "count" in names(await peer.list("tools")), names(await peer.list("tools")))
    answer = await peer.ask("call_tool", "count", {"upTo": 3})
    check("and can be called", answer["structuredContent"] == {"upTo": 3}, answer)
    rest = {method for method, _ in peer.notices} - {"resources/list_changed", "resources/updated", "tools/list_changed"}
    check("no notice but these came", not rest, peer.notices)


async def assistant(peer, folder):
    if not peer.modern():
        await peer.ask("set_logging_level", "debug")
    told = []

    async def progress(done, total, message):
        told.append((done, total, message))

    text, failed = await peer.call("summarize-meeting", {"meeting": "kick-off"}, progress_callback=progress)
    check("a tool that asks the client's model", (text, failed) == ("# kick-off\n\nIn short.\n", False), [text])
    minutes = (folder / "minutes/kick-off.md").read_text()
    message = peer.asked[0]["messages"][0]
    message = (message["content"] if isinstance(message["content"], dict) else message["content"][0])["text"]
    check("what its model was asked", message.strip() == minutes.strip() and peer.asked[0]["maxTokens"] == 400, peer.asked)
    await peer.until("progress", lambda: [done for done, _, _ in told] == [1, 2, 3], lambda: told)
    check("its words", told[0] == (1, 3, "Reading the minutes"), told)
    spoken = [("debug", "summarize"), ("info", "summarize-meeting")]
    await peer.until("log messages", lambda: [log[:2] for log in peer.logs] == spoken, lambda: peer.logs)
    text, _ = await peer.call("folders", {})
    check("the client's roots", text == "file:///work/desk\n", [text])

    told.clear()
    waiting = asyncio.create_task(peer.client.call_tool("wait", {"seconds": 10}, progress_callback=progress))
    await peer.until("a call is under way", lambda: told, lambda: told)
    began = time.monotonic()
    await peer.give_up(waiting)
    check("it is cancelled", waiting.cancelled() and time.monotonic() - began < 2, f"after {time.monotonic() - began:.2f} s")
    text, _ = await peer.call("wait", {"seconds": 0.01})
    check("and the next is answered", text == "Waited 0.01 s.", text)


async def ask_first(peer, folder):
    desk = Path(os.environ["DESK"])
    (desk / "invited.txt").unlink(missing_ok=True)
    note = desk / "plan.txt"
    note.write_text("Buy milk\n")
    peer.answers = [("decline", None)]
    text, failed = await peer.call("delete-note", {"name": "plan"})
    check("a person says no", (text, failed, note.exists()) == ("`plan` is kept.", False, True), text)
    check("what was asked", "It begins: Buy milk" in peer.asked[0]["message"], peer.asked)
    peer.answers = [("accept", {"sure": True})]
    text, _ = await peer.call("delete-note", {"name": "plan"})
    check("a person says yes", (text, note.exists()) == ("Deleted `plan`.", False), text)

    peer.answers = [("accept", {"mail": "ada@desk.example", "role": "editor"}), ("accept", {"send": True})]
    text, _ = await peer.call("invite", {})
    check("two rounds", text == "Invited ada@desk.example.", text)
    check("the second depends on the first", "ada@desk.example an invitation as editor" in peer.asked[-1]["message"], peer.asked[-1])
    peer.answers = [("accept", {"mail": "bob@desk.example"}), ("cancel", None)]
    text, failed = await peer.call("invite", {})
    check("the second is cancelled", failed and "the user cancelled" in text, text)
    lines = (desk / "invited.txt").read_text().split("\n")[:-1]
    wanted = ["ada@desk.example asked for", "ada@desk.example invited", "bob@desk.example asked for"]
    check("each effect happened once", lines == wanted, lines)


SESSIONS = (("hello", hello), ("docs", docs), ("assistant", assistant), ("ask-first", ask_first))


async def run(binary, examples):
    for mode in ("legacy", "2026-07-28", "auto") if MODERN else ("legacy",):
        for name, session in SESSIONS:
            with example(examples, name) as folder, open(folder.parent / "stderr", "w+") as errors:
                print(f"{name} over stdio, mcp {SDK}, {mode}", flush=True)
                try:
                    async with connect([binary, "serve", str(folder)], errors, mode) as peer:
                        await session(peer, folder)
                except BaseException:
                    errors.seek(0)
                    print("  the server said:", errors.read(), sep="\n", file=sys.stderr)
                    raise
            with example(examples, name) as folder, over_http(binary, folder) as url:
                print(f"{name} over HTTP, mcp {SDK}, {mode}", flush=True)
                async with connect(url, None, mode) as peer:
                    await session(peer, folder)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="folio-desk-") as place:
        os.environ["DESK"] = place
        asyncio.run(asyncio.wait_for(run(*sys.argv[1:]), 280))
