"""An authorization server and the official Python SDK's client against a server with `http.auth`: without a token, by the
metadata, with PKCE, with too little scope and after a step-up; roles, and tokens that are for somebody else.

    authorization.py FOLIO

Runs where `mcp` 2.x and `nanoidp` are installed.
"""

import asyncio
import html
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata

from served import SOON, Failed, check, names

REDIRECT = "http://127.0.0.1:9/callback"
USERS = {"admin": "admin", "testuser": "test123"}
"""Those of `nanoidp init`; the first has the role ADMIN."""

# Scopes and clients are those of the server below; `init` has written users beside it.
ISSUER = """
server: {{ host: 127.0.0.1, port: {port} }}
oauth:
  issuer: {issuer}
  audience: somebody-else
  scopes_supported: [openid, desk.use, desk.write]
  dynamic_registration: {{ enabled: true }}
  clients:
    - {{ client_id: ci, client_secret: ci-secret-4711 }}
    - {{ client_id: interop, token_endpoint_auth_method: none, redirect_uris: ["{redirect}"] }}
"""

DESK = """
folio: 1
server: {{ name: desk }}
http:
  publicUrl: {resource}
  auth:
    issuer: {issuer}
    scopes: [desk.use]
tools:
  look: {{ description: Looks, result: {{ text: "{{{{caller.id}}}} looks" }} }}
  write: {{ description: Writes, scopes: [desk.write], result: {{ text: "{{{{caller.id}}}} writes" }} }}
  close: {{ description: Closes, roles: [ADMIN], result: {{ text: "{{{{caller.id}}}} closes" }} }}
"""


def free_port():
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return listener.getsockname()[1]


@contextmanager
def running(name, command, url, log, **named):
    """A server, from when it answers at this URL."""
    with open(log, "w+") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, **named)
        try:
            end, status = time.monotonic() + SOON, None
            while status != 200 and time.monotonic() < end and process.poll() is None:
                try:
                    status = httpx2.get(url).status_code
                except httpx2.TransportError:
                    time.sleep(0.05)
            check(f"{name} is there", status == 200, url if status == 200 else Path(log).read_text())
            yield
        except BaseException:
            print(f"  {name} said:", Path(log).read_text()[-4000:], sep="\n", file=sys.stderr)
            raise
        finally:
            process.terminate()
            process.wait(SOON)


async def browse(url, user):
    """Signs a user in as a browser does; what the client is then called back with."""
    async with httpx2.AsyncClient() as browser:
        response = await browser.get(url)
        for _ in range(10):
            if location := response.headers.get("location"):
                url = str(response.url.join(location))
                if url.startswith(REDIRECT):
                    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
                response = await browser.get(url)
                continue
            form = re.search(r'<form method="POST"[^>]*>(.*?)</form>', response.text, re.S)
            if response.status_code != 200 or not form:
                raise Failed(f"no form at {url}: {response.status_code} {response.text[:500]}")
            hidden = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form[1])
            fields = {name: html.unescape(value) for name, value in hidden} | {"username": user, "password": USERS[user]}
            response = await browser.post(str(response.url), data=fields)
    raise Failed("the browser goes in circles")


class Account:
    """What a client keeps of its authorization, its user, and the URLs that they are sent to."""

    def __init__(self, user, client=None):
        self.user, self.visited, self.tokens, self.client = user, [], None, client

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client

    async def visit(self, url):
        self.visited.append(url)

    async def called_back(self):
        answer = await browse(self.visited[-1], self.user)
        check("the issuer lets the user in", "code" in answer, "a code" if "code" in answer else answer)
        return AuthorizationCodeResult(code=answer["code"], state=answer.get("state"), iss=answer.get("iss"))

    def asked(self, name):
        """A parameter of the URL that was visited last."""
        return parse_qs(urlsplit(self.visited[-1]).query).get(name, [""])[0]


@asynccontextmanager
async def connected(resource, account, mode):
    metadata = OAuthClientMetadata(client_name="interop", redirect_uris=[REDIRECT], token_endpoint_auth_method="none",
                                   grant_types=["authorization_code"], response_types=["code"])
    provider = OAuthClientProvider(resource, metadata, account, redirect_handler=account.visit, callback_handler=account.called_back)
    async with httpx2.AsyncClient(auth=provider, timeout=SOON) as web:
        async with Client(streamable_http_client(resource, http_client=web), mode=mode) as client:
            yield client


async def said(client, tool):
    answer = await client.call_tool(tool, {})
    return answer.content[0].text


async def signed_in(issuer, resource, mode):
    # This issuer holds a client that registers itself to the scopes of the first 401: one that steps up is known before.
    known = OAuthClientInformationFull(client_id="interop", redirect_uris=[REDIRECT], token_endpoint_auth_method="none", issuer=issuer)
    account = Account("admin", known)
    async with connected(resource, account, mode) as client:
        check("the client signs in by the metadata and calls", (saw := await said(client, "look")) == "admin looks", saw)
        check("it asks for what every request needs", account.asked("scope") == "desk.use", account.asked("scope"))
        check("it asks for a token for this server", account.asked("resource") == resource, account.asked("resource"))
        check("it proves that the code is its own", account.asked("code_challenge_method") == "S256", account.asked("code_challenge_method"))
        check("its user has a role", (saw := await said(client, "close")) == "admin closes", saw)
        check("one sign-in was enough", len(account.visited) == 1, len(account.visited))
        check("it steps up and calls again", (saw := await said(client, "write")) == "admin writes", saw)
        asked = sorted(account.asked("scope").split())
        check("it asked for all scopes at once", (asked, len(account.visited)) == (["desk.use", "desk.write"], 2), asked)
        check("and is not asked again", (await said(client, "write"), len(account.visited)) == ("admin writes", 2), len(account.visited))

    other = Account("testuser")
    async with connected(resource, other, mode) as client:
        check("a client registers itself", (saw := await said(client, "look")) == "testuser looks", saw)
        tools = sorted(names((await client.list_tools()).model_dump()["tools"]))
        check("who lacks a role does not see its tool", tools == ["look", "write"], tools)
    return account.tokens.access_token


def status_of(resource, token):
    """What a request with this token is answered with."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}}
    headers = {"Accept": "application/json, text/event-stream"} | ({"Authorization": f"Bearer {token}"} if token else {})
    response = httpx2.post(resource, json=body, headers=headers)
    return response.status_code, response.headers.get("www-authenticate", "")


def program_token(issuer, **parameters):
    """A token of a program, for whom it asks."""
    response = httpx2.post(f"{issuer}/token", data={"grant_type": "client_credentials"} | parameters, auth=("ci", "ci-secret-4711"))
    return response.json()["access_token"]


async def run(issuer, resource):
    status, challenge = status_of(resource, None)
    check("no token", status == 401 and "/.well-known/oauth-protected-resource/mcp" in challenge, f"{status} {challenge}")
    for mode in ("legacy", "2026-07-28"):
        print(f"a user, {mode}", flush=True)
        token = await signed_in(issuer, resource, mode)
    print("tokens", flush=True)
    check("the token that the client has", (saw := status_of(resource, token))[0] == 200, saw[0])
    mine = program_token(issuer, resource=resource, scope="desk.use")
    check("of a program", (saw := status_of(resource, mine))[0] == 200, saw[0])
    forged = f"{token.rpartition('.')[0]}.{mine.rpartition('.')[2]}"
    check("with another's signature", (saw := status_of(resource, forged))[0] == 401 and "signature" in saw[1], saw)
    narrow = program_token(issuer, resource=resource, scope="desk.write")
    saw = status_of(resource, narrow)
    check("without the scope of all requests", saw[0] == 403 and "insufficient_scope" in saw[1], saw)
    for what, parameters in (("for another server", {"resource": "http://127.0.0.1:1/mcp"}), ("for nobody in particular", {})):
        foreign = program_token(issuer, scope="desk.use", **parameters)
        check(what, (saw := status_of(resource, foreign))[0] == 401 and "another audience" in saw[1], saw)


def main(binary):
    with tempfile.TemporaryDirectory(prefix="folio-authorization-") as place:
        desk, config = Path(place) / "desk", Path(place) / "issuer"
        desk.mkdir()
        port, own = free_port(), free_port()
        issuer, resource = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{own}/mcp"
        nanoidp = str(Path(sys.executable).parent / "nanoidp")
        subprocess.run([nanoidp, "init", str(config)], check=True, stdout=subprocess.DEVNULL, timeout=60)
        (config / "settings.yaml").write_text(ISSUER.format(port=port, issuer=issuer, redirect=REDIRECT))
        (desk / "folio.yaml").write_text(DESK.format(issuer=issuer, resource=resource))
        command = [nanoidp, "--config", str(config), "--profile", "oauth21", "--strict-config"]
        served = [binary, "serve", str(desk), "--http", f"127.0.0.1:{own}"]
        home = os.environ | {"HOME": place}
        with (
            running("the issuer", command, f"{issuer}/.well-known/openid-configuration", Path(place) / "issuer.log", cwd=place, env=home),
            running("the server", served, f"http://127.0.0.1:{own}/readyz", Path(place) / "server.log"),
        ):
            asyncio.run(asyncio.wait_for(run(issuer, resource), 100))


if __name__ == "__main__":
    main(*sys.argv[1:])
