"""The web-api example in Python, for comparison: see docs/rest-api.md."""

import ipaddress
import json
import os
import random
import socket
import time
from collections.abc import AsyncGenerator, Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, Literal
from urllib.parse import quote

import anyio
import httpx
from mcp.server import MCPServer
from mcp.server.caching import CacheHint
from mcp.server.mcpserver.exceptions import (
    ResourceError,
    ResourceNotFoundError,
    ToolError,
)
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
    ToolAnnotations,
)
from pydantic import BaseModel, Field

API = os.environ.get("WEATHER_API", "http://127.0.0.1:4010")
CLIENT = os.environ.get("WEATHER_CLIENT", "folio")
SECRET = os.environ["WEATHER_SECRET"]

ALLOWED_HOSTS = {"127.0.0.1"}  # may have private addresses
TIME_LIMIT = 30.0  # seconds for a call, with its retries
ATTEMPTS = 3
BACKOFF = 0.5
MAX_PAGES = 5
CACHE_SECONDS = 3600.0
CITIES = ["Berlin", "Lagos", "Lima", "Oslo"]


class ApiError(ToolError):
    """A request that failed, in words for the model."""

    def __init__(self, text: str, status: int = 0, message: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.message = message


class GuardedTransport(httpx.AsyncHTTPTransport):
    """Connects only to the address that was checked: a name cannot change its mind in between."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.raw_host.decode()
        try:
            found = await anyio.getaddrinfo(
                host, request.url.port, type=socket.SOCK_STREAM
            )
        except OSError as error:
            raise httpx.ConnectError(f"cannot resolve {host}") from error
        addresses = [ipaddress.ip_address(sockaddr[0]) for *_, sockaddr in found]
        if host not in ALLOWED_HOSTS and not all(map(is_public, addresses)):
            raise ApiError(f"The host {host} has a private address and is not allowed.")
        pinned = httpx.Request(
            request.method,
            request.url.copy_with(host=str(addresses[0])),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": host},
        )
        return await super().handle_async_request(pinned)


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return address.is_global and not address.is_multicast


class RetryTransport(httpx.AsyncBaseTransport):
    """Sends a request again if it may be repeated, or was never sent."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self.inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        repeatable = request.method not in ("POST", "PATCH")
        for attempt in range(1, ATTEMPTS):
            delay = BACKOFF * 2 ** (attempt - 1) * random.uniform(0.5, 1)
            try:
                response = await self.inner.handle_async_request(request)
            except httpx.TransportError as error:
                unsent = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout))
                if not (repeatable or unsent):
                    raise
            else:
                failed = response.status_code == 429 or response.status_code >= 500
                if not (repeatable and failed):
                    return response
                if (asked := retry_after(response)) is not None:
                    delay = asked
                if delay >= anyio.current_effective_deadline() - anyio.current_time():
                    return response
                await response.aclose()
            await anyio.sleep(delay)
        return await self.inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self.inner.aclose()


def retry_after(response: httpx.Response) -> float | None:
    """How many seconds a response asks to wait: it says seconds, or a date."""
    value = response.headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        until = parsedate_to_datetime(value)
        return max(0.0, (until - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


class ClientCredentials(httpx.Auth):
    """OAuth 2 client credentials; a token that the API rejects is replaced once."""

    def __init__(self) -> None:
        self.token = ""
        self._refresh_at = 0.0
        self._lock = anyio.Lock()

    async def _get(self, rejected: str = "") -> str:
        async with self._lock:  # others wait for the one that fetches it
            if self.token == rejected or time.monotonic() >= self._refresh_at:
                response = await http.post(
                    f"{API}/token",
                    data={"grant_type": "client_credentials", "scope": "weather"},
                    auth=(CLIENT, SECRET),
                )
                if not response.is_success:
                    raise ApiError(
                        f"No access token: the token endpoint says {response.status_code}."
                    )
                answer = response.json()
                lifetime = float(answer.get("expires_in", 3600))
                self.token = answer["access_token"]
                self._refresh_at = time.monotonic() + lifetime - min(60, lifetime / 5)
            return self.token

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        token = await self._get()
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == 401:
            token = await self._get(rejected=token)
            request.headers["Authorization"] = f"Bearer {token}"
            yield request


credentials = ClientCredentials()
http = httpx.AsyncClient(
    base_url=f"{API}/v1",
    auth=credentials,
    headers={"Accept": "application/json"},
    transport=RetryTransport(GuardedTransport()),
    timeout=TIME_LIMIT,
    follow_redirects=True,
)


def redact(text: str) -> str:
    """An API may echo what it was sent."""
    for secret in filter(None, (SECRET, credentials.token)):
        text = text.replace(secret, "[secret]")
    return text


async def api(
    path: str,
    *,
    params: dict[str, Any] | None = None,
    body: dict[str, Any] | None = None,
    expect: Iterable[int] = (),
) -> Any:
    """GETs JSON, or POSTs `body`; what is None is left out."""
    method = "GET" if body is None else "POST"
    try:
        with anyio.fail_after(TIME_LIMIT):
            response = await http.request(
                method, path, params=present(params), json=present(body)
            )
    except TimeoutError:
        raise ApiError(
            f"{method} {path} took longer than {TIME_LIMIT:.0f} s."
        ) from None
    except httpx.HTTPError as error:
        raise ApiError(f"{method} {path} failed: {type(error).__name__}") from error
    try:
        answer = json.loads(redact(response.text))
    except ValueError:
        answer = None
    status = response.status_code
    if not response.is_success and status not in expect:
        message = answer.get("message", "") if isinstance(answer, dict) else ""
        text = f"{method} {path} failed with HTTP status {status}: {message}"
        raise ApiError(text, status, message)
    if answer is None:
        raise ApiError(f"{method} {path} did not answer with JSON.")
    return answer


def present(values: dict[str, Any] | None) -> dict[str, Any] | None:
    return values and {key: value for key, value in values.items() if value is not None}


station_pages: dict[tuple[str, str | int | None], tuple[float, Any]] = {}


async def station_page(country: str, cursor: str | int | None) -> Any:
    """A page of stations, which is kept for an hour."""
    expires, page = station_pages.get((country, cursor), (0.0, None))
    if time.monotonic() >= expires:
        page = await api("/stations", params={"country": country, "cursor": cursor})
        station_pages[country, cursor] = (time.monotonic() + CACHE_SECONDS, page)
    return page


server = MCPServer(
    "web-api",
    title="Weather",
    version="1.0.0",
    instructions="Ask `get_weather` for now and `forecast` for the days to come.",
    cache_hints={"resources/read": CacheHint(ttl_ms=60_000)},
)
READS = ToolAnnotations(read_only_hint=True, open_world_hint=True)


class Weather(BaseModel):
    temperature: float = Field(description="In degrees of the scale")
    conditions: str
    humidity: float = Field(description="In percent")


@server.prompt("what-to-wear", title="What to wear")
async def what_to_wear(
    location: Annotated[str, Field(description="City name")],
) -> str:
    """Say what to wear somewhere today"""
    try:
        now = await api("/weather", params={"city": location})
    except ApiError as error:
        raise MCPError(INTERNAL_ERROR, str(error)) from error
    return (
        f"It is {now['temperature']} °C in {location}, with {now['conditions'].lower()}.\n"
        "Say in two sentences what to wear.\n"
    )


@server.resource(
    "weather://{city}",
    title="Weather",
    description="The weather of a city, as the API says it",
    mime_type="application/json",
)
async def city(city: str) -> str:
    try:
        return json.dumps(await api("/weather", params={"city": city}))
    except ApiError as error:
        kind = ResourceNotFoundError if error.status == 404 else ResourceError
        raise kind(str(error)) from error


@server.completion()
async def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion | None:
    match ref, argument.name:
        case (PromptReference(name="what-to-wear"), "location") | (
            ResourceTemplateReference(uri="weather://{city}"),
            "city",
        ):
            begun = argument.value.lower()
            return Completion(
                values=[name for name in CITIES if name.lower().startswith(begun)]
            )
    return None


@server.tool(title="Weather Information Provider", annotations=READS)
async def get_weather(
    location: Annotated[str, Field(description="City name or zip code")],
    units: Annotated[
        Literal["metric", "imperial"] | None, Field(description="The scale")
    ] = None,
) -> Weather:
    """Get current weather information for a location"""
    try:
        now = await api("/weather", params={"city": location, "units": units})
    except ApiError as error:
        match error.status:
            case 0:
                raise
            case 404:
                text = f"There is no weather for {location}: try the nearest city."
            case status if status < 500:
                text = f"The weather service refuses {location}: {error.message}"
            case status:
                text = (
                    f"The weather service has failed ({status}); try again in a minute."
                )
        raise ToolError(text) from error
    return Weather.model_validate(now)


@server.tool(title="Forecast", annotations=READS, structured_output=False)
async def forecast(
    location: Annotated[str, Field(description="City name")],
    days: Annotated[int, Field(description="How many", ge=1, le=7)] = 3,
    fields: Annotated[
        list[Literal["wind", "rain"]] | None, Field(description="What to tell")
    ] = None,
) -> str:
    """The weather of the days to come"""
    if location in ("", ".", ".."):  # these would change the path
        raise ToolError(f"`{location}` is not the name of a city.")
    path = f"/cities/{quote(location, safe='')}/forecast"
    try:
        found = await api(path, params={"days": days, "field": fields})
    except ApiError as error:
        if error.status == 404:
            raise ToolError(f"There is no forecast for {location}.") from error
        raise
    lines = [
        f"{day['day']}: {day['conditions']}, {day['high']} °C\n"
        for day in found["days"]
    ]
    return "".join(lines) or "Nothing is known of the days to come.\n"


@server.tool(title="Stations", annotations=READS, structured_output=False)
async def stations(
    country: Annotated[
        str, Field(description="Two letters, such as de", pattern="^[a-z]{2}$")
    ],
) -> str:
    """List the weather stations of a country"""
    lines: list[str] = []
    cursor = None
    with anyio.move_on_after(TIME_LIMIT) as limit:
        for _ in range(MAX_PAGES):
            page = await station_page(country, cursor)
            lines += [f"{found['id']} {found['name']}\n" for found in page["stations"]]
            cursor = page["next"]
            if cursor is None:
                break
    if limit.cancelled_caught:
        raise ToolError(f"The stations took longer than {TIME_LIMIT:.0f} s.")
    if cursor is not None:
        lines.append(f"There are more: only {MAX_PAGES} pages were read.")
    return "".join(lines)


@server.tool(
    title="Report the weather",
    annotations=ToolAnnotations(
        read_only_hint=False,
        destructive_hint=False,
        idempotent_hint=False,
        open_world_hint=True,
    ),
    structured_output=False,
)
async def report(
    location: Annotated[str, Field(description="City name", max_length=80)],
    temperature: Annotated[float, Field(description="In °C", ge=-90, le=60)],
    tags: Annotated[list[str] | None, Field(description="Words for it")] = None,
    note: Annotated[str | None, Field(description="Anything else")] = None,
) -> str:
    """Report what the weather is where you are"""
    taken = await api(
        "/reports",
        body={
            "city": location,
            "temperature": temperature,
            "tags": tags,
            "note": note,
            "source": f"{server.name}/{server.version}",
        },
        expect=[409],  # somebody was faster: not an error
    )
    return f"Report {taken['id']} was taken." if "id" in taken else taken["message"]


if __name__ == "__main__":
    server.run()
