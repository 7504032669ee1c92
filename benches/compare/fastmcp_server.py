from typing import Literal

from fastmcp import FastMCP
from fastmcp.prompts import Message

server = FastMCP("desk", version="1.0.0")


@server.tool
def echo(text: str) -> str:
    """Says a text back"""
    return text


@server.prompt
def review(kind: Literal["bugs", "bytes", "style"], text: str = "") -> list[Message]:
    """Review a text"""
    return [Message(f"Review for {kind}: {text}"), Message("Here is what I see.", role="assistant")]


@server.resource("desk://notes", mime_type="text/plain")
def notes() -> str:
    return "Some notes."


server.run(show_banner=False)
