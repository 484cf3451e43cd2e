# SPDX-License-Identifier: Apache-2.0
"""A small proxy that does CONNECT, for tests: it passes bytes on and remembers whom it was asked for.

The one idea: nothing but CONNECT is answered, so whatever comes out on the other side went through a tunnel; with a
password set, a request without it gets 407. Standard library only.
"""

import base64
import contextlib
import socket
import threading


class ConnectProxy:
    def __init__(self, password=None, upstream=None):
        self.wanted = password and "Basic " + base64.b64encode(password.encode()).decode()
        self.upstream = upstream  # where every tunnel really leads, for names that nobody has
        self.asked = []  # "host:port" of each tunnel that was opened
        self.tls = []  # of each: whether a TLS handshake came through it
        self.refused = []  # first lines of what was not
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *unused):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _peer = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    @staticmethod
    def read_head(client):
        head = b""
        while b"\r\n\r\n" not in head and len(head) < 1 << 16:
            piece = client.recv(1)
            if not piece:
                break
            head += piece
        return head.decode("latin-1").split("\r\n")

    def serve(self, client):
        with client, contextlib.suppress(OSError):
            first, *headers = self.read_head(client)
            given = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in headers)}
            method, target = (first.split(" ") + ["", ""])[:2]
            if self.wanted and given.get("proxy-authorization") != self.wanted:
                self.refused.append(first)
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                return
            if method != "CONNECT":
                self.refused.append(first)
                client.sendall(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
                return
            self.asked.append(target)
            host, _, port = (self.upstream or target).rpartition(":")
            with socket.create_connection((host, int(port))) as server:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                self.tls.append(client.recv(1, socket.MSG_PEEK) == b"\x16")
                back = threading.Thread(target=self.pump, args=(server, client), daemon=True)
                back.start()
                self.pump(client, server)
                back.join()

    @staticmethod
    def pump(source, target):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                target.sendall(piece)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)
