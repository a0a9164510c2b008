"""The official Python client, signing on: from no token to a call, and to a wider token where a call needs it.

Arguments: the address, tools with their arguments in JSON. Prints what it saw as JSON.
"""

import asyncio
import json
import sys
from urllib.parse import parse_qs, urlparse

import httpx2
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

REDIRECT = "http://localhost:1/callback"
address, *calls = sys.argv[1:]
seen = {"scopes": [], "resources": [], "answers": []}
back = {}


class Storage:
    tokens = information = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.information

    async def set_client_info(self, information):
        self.information = information


async def browse(start):
    """A browser: follows redirects with cookies until the one to the client."""
    query = parse_qs(urlparse(start).query)
    seen["scopes"].append(query["scope"][0])
    seen["resources"].append(query["resource"][0])
    async with httpx2.AsyncClient(verify=False) as browser:
        url = start
        while not url.startswith(REDIRECT):
            response = await browser.get(url)
            url = str(response.url.join(response.headers["location"]))
    back.update({key: values[0] for key, values in parse_qs(urlparse(url).query).items()})


async def callback():
    return AuthorizationCodeResult(code=back["code"], state=back.get("state"), iss=back.get("iss"))


async def main():
    metadata = OAuthClientMetadata(client_name="test", redirect_uris=[REDIRECT], token_endpoint_auth_method="none")
    auth = OAuthClientProvider(address, metadata, Storage(), browse, callback)
    async with httpx2.AsyncClient(auth=auth, timeout=30) as http:
        async with streamable_http_client(address, http_client=http) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await session.initialize()
                seen["tools"] = [tool.name for tool in (await session.list_tools()).tools]
                for tool, arguments in zip(calls[::2], calls[1::2]):
                    answer = await session.call_tool(tool, json.loads(arguments))
                    seen["answers"].append({"tool": tool, "isError": bool(answer.is_error)})
    print(json.dumps(seen))


asyncio.run(main())
