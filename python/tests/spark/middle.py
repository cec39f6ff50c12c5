"""A TCP proxy between Spark and its partner, at which a test can hold a connection and see whose it is."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any

import psutil


class Middle:
    """Passes connections on. The one with number ``hold`` (0 is the run's) stops after ``after`` bytes from the partner."""

    def __init__(self, upstream: str, hold: int | None = None, after: int = 20_000) -> None:
        host, _, port = upstream.rpartition(":")
        self._upstream = (host, int(port))
        self._hold, self._after = hold, after
        self.held, self.release = threading.Event(), threading.Event()
        self.clients: list[tuple[str, int]] = []
        self._open: list[socket.socket] = []
        self._counting = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, address = self._listener.accept()
                server = socket.create_connection(self._upstream)
            except OSError:
                return
            self._open += [client, server]
            threading.Thread(target=self._serve, args=(client, server, address), daemon=True).start()

    def _serve(self, client: socket.socket, server: socket.socket, address: tuple[str, int]) -> None:
        # A probe says nothing; only what says something is counted.
        first = client.recv(1 << 16)
        if not first:
            client.close()
            server.close()
            return
        with self._counting:
            number = len(self.clients)
            self.clients.append(address)
        server.sendall(first)
        threading.Thread(target=self._pump, args=(client, server, None), daemon=True).start()
        self._pump(server, client, number)

    def _pump(self, source: socket.socket, target: socket.socket, number: int | None) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 14):
                passed += len(data)
                if number is not None and number == self._hold and passed > self._after:
                    self.held.set()
                    self.release.wait()
                target.sendall(data)
            # Only this direction has ended: the other one may still have its DONE under way.
            target.shutdown(socket.SHUT_WR)
            return
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def kill_executor_of(self, number: int) -> None:
        """Kill the executor whose task made that connection, and its Python processes, as if the machine were lost."""
        executor = self._executor_of(number)
        workers = executor.children(recursive=True)
        executor.kill()
        for worker in workers:
            with contextlib.suppress(psutil.Error):
                worker.kill()

    def _executor_of(self, number: int) -> psutil.Process:
        port = self.clients[number][1]
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if any(one.laddr and one.laddr.port == port for one in process.net_connections("tcp")):
                    for parent in [process, *process.parents()]:
                        if any("CoarseGrainedExecutorBackend" in word for word in parent.cmdline()):
                            return parent
        raise AssertionError(f"no executor has connection {number}")

    def close(self) -> None:
        self.release.set()
        for end in [self._listener, *self._open]:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def run_with(action: Any) -> tuple[threading.Thread, list[Any]]:
    """``action`` in a thread; its result, or what it raised."""
    outcome: list[Any] = []

    def play() -> None:
        try:
            outcome.append(action())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=play, daemon=True)
    thread.start()
    return thread, outcome
