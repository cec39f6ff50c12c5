"""An S3 server of its own for the tests, a proxy before it that disturbs what passes, and one that makes it Google's store."""

from __future__ import annotations

import http.client
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

import boto3
from botocore.config import Config

BUCKET = "tables"
KEYS = {"AWS_ACCESS_KEY_ID": "testkey", "AWS_SECRET_ACCESS_KEY": "not-a-secret", "AWS_REGION": "us-east-1"}
Answer = tuple[int, list[tuple[str, str]], bytes]
Disturb = Callable[["Request", Callable[[], Answer]], Answer]


class Server:
    """moto, in a process, with an empty bucket."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", "from moto.server import main; main(['-H', '127.0.0.1', '-p', '0'])"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.process.stdout is not None
        self.url = next(line.split()[-1] for line in self.process.stdout if "Running on" in line)
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        self.s3 = boto3.client(
            "s3",
            endpoint_url=self.url,
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
            region_name=KEYS["AWS_REGION"],
            config=Config(signature_version="s3v4", s3={"addressing_style": "path"}),
        )
        self.s3.create_bucket(Bucket=BUCKET)

    def put(self, key: str, body: bytes) -> None:
        self.s3.put_object(Bucket=BUCKET, Key=key, Body=body)

    def get(self, key: str) -> bytes | None:
        """The object, or none if there is none."""
        try:
            return bytes(self.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read())
        except self.s3.exceptions.NoSuchKey:
            return None

    def unfinished(self) -> list[Any]:
        return list(self.s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []))

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


class Request(BaseHTTPRequestHandler):
    """One request, passed on as ``disturb`` wants."""

    protocol_version = "HTTP/1.1"
    server: Proxy

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def passed_on() -> Answer:
            target = urlsplit(self.server.target)
            connection = http.client.HTTPConnection(target.hostname or "", target.port)
            connection.request(self.command, self.path, body, dict(self.headers))
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()

        status, headers, content = self.server.disturb(self, passed_on)
        self.send_response_only(status)
        kept = [header for header in headers if header[0].lower() not in ("connection", "transfer-encoding")]
        if not any(name.lower() == "content-length" for name, _ in kept):
            kept.append(("Content-Length", str(len(content))))
        for name, value in kept:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
            length = next(int(value) for name, value in kept if name.lower() == "content-length")
            self.close_connection = len(content) < length

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Proxy(ThreadingHTTPServer):
    """A proxy to a server."""

    def __init__(self, target: str, disturb: Disturb) -> None:
        super().__init__(("127.0.0.1", 0), Request)
        self.target, self.disturb = target, disturb
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def disturbed(server: Server, disturb: Disturb) -> Iterator[str]:
    """The address of a proxy before the server."""
    proxy = Proxy(server.url, disturb)
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy.url
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join(10)


class Google:
    """Google's store to whoever asks: its XML API has the paths, queries and answers of S3, and headers of its own."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.authorizations: set[str | None] = set()
        self.written: list[tuple[str, str, str]] = []
        """What wrote: command, key, query without values."""

    def answer(self, request: Request, pass_on: Callable[[], Answer]) -> Answer:
        path, _, query = request.path.partition("?")
        key = unquote(path).removeprefix(f"/{BUCKET}/")
        self.authorizations.add(request.headers["Authorization"])
        if request.command in ("PUT", "POST", "DELETE"):
            self.written.append((request.command, key, "&".join(part.split("=")[0] for part in query.split("&"))))
        if request.headers["x-goog-if-generation-match"] == "0" and self.server.get(key) is not None:
            return 412, [], b"<Error><Code>PreconditionFailed</Code></Error>"
        # The server behind takes S3's form alone, and checks no signature.
        scope = f"{KEYS['AWS_ACCESS_KEY_ID']}/20260101/{KEYS['AWS_REGION']}/s3/aws4_request"
        del request.headers["Authorization"]
        request.headers["Authorization"] = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"
        status, headers, body = pass_on()
        return status, [*headers, ("x-goog-generation", "1")], body
