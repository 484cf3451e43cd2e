# SPDX-License-Identifier: Apache-2.0
"""The network between a client and the fake server: a TCP relay that can go wrong on purpose.

The one idea: it relays whole HTTP/2 frames, so it can stop, cut, slow down or add a frame at an exact byte of a response,
which no gRPC library lets a server do. A fault is armed for a number of DATA bytes of one stream and strikes when that many
have been passed on, in the middle of a frame if need be. It knows nothing of gRPC or Spark.
"""

import contextlib
import socket
import struct
import threading
import time

PREFACE = 24  # bytes a client sends before its first frame
DATA, RST_STREAM, GOAWAY, WINDOW_UPDATE = 0, 3, 7, 8
INTERNAL_ERROR, ENHANCE_YOUR_CALM = 2, 11


def frame(kind, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, 0]) + struct.pack(">I", stream) + payload


def read_exactly(sock, count):
    parts = []
    while count:
        part = sock.recv(min(count, 1 << 16))
        if not part:
            raise ConnectionError("end of stream")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def close_hard(sock):
    """With a reset, as when a host goes away; buffered bytes are lost with it."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    close(sock)


def close(sock):
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()


class Link:
    """One client connection and its twin to the server."""

    def __init__(self, front, number, client, server):
        self.front, self.number, self.client, self.server = front, number, client, server
        self.to_client, self.to_server = threading.Lock(), threading.Lock()  # held while a frame is being written
        self.passed = {}  # DATA bytes passed to the client, by stream
        self.dead_streams = set()
        self.fault = None  # (bytes of one stream, what to do)
        self.drip = None  # (bytes at a time, seconds between)
        self.swap = None  # takes the place of the next bytes of a response
        self.peer = "ipv4:%s:%d" % server.getsockname()

    def arm(self, count, strike):
        """Call strike(link, stream) once count DATA bytes of one stream have reached the client."""
        self.fault = (count, strike)

    def run(self):
        for target in (self.relay_requests, self.relay_responses):
            threading.Thread(target=self.guarded, args=(target,), daemon=True).start()

    def guarded(self, target):
        try:
            target()
        except OSError:
            pass
        finally:
            close(self.client)
            close(self.server)

    def relay_requests(self):
        self.server.sendall(read_exactly(self.client, PREFACE))
        while True:
            head = read_exactly(self.client, 9)
            body = read_exactly(self.client, int.from_bytes(head[:3], "big"))
            with self.to_server:
                self.server.sendall(head + body)

    def relay_responses(self):
        while True:
            head = read_exactly(self.server, 9)
            body = read_exactly(self.server, int.from_bytes(head[:3], "big"))
            stream = int.from_bytes(head[5:], "big") & 0x7FFFFFFF
            if stream in self.dead_streams:
                if head[3] == DATA and body:  # nobody will take it: give the server its window back
                    self.to_upstream(frame(WINDOW_UPDATE, 0, struct.pack(">I", len(body))))
            elif head[3] == DATA:
                self.relay_data(head, body, stream)
            else:
                self.write(head + body)

    def relay_data(self, head, body, stream):
        if self.swap and body:
            head, body, self.swap = frame(DATA, stream, self.swap)[:9], self.swap, None
        before = self.passed.get(stream, 0)
        if self.fault and before + len(body) >= self.fault[0]:
            count, strike = self.fault
            self.fault = None
            part = count - before
            strike_in_frame = getattr(strike, "in_frame", False)
            self.write((head + body)[: 9 + max(part, 0)] if strike_in_frame else head + body)
            self.passed[stream] = before + (part if strike_in_frame else len(body))
            strike(self, stream)
            return
        self.write(head + body)
        self.passed[stream] = before + len(body)

    def write(self, data):
        with self.to_client:
            if self.drip is None:
                self.client.sendall(data)
                return
            size, pause = self.drip
            for start in range(0, len(data), size):
                self.client.sendall(data[start : start + size])
                time.sleep(pause)

    def to_upstream(self, data):
        with self.to_server:
            self.server.sendall(data)


# --- faults: what can strike. Those marked in_frame do so in the middle of a frame.


def cut(link, _stream):
    """The connection is reset, once the client has had time to take what it got: a reset discards the rest."""
    time.sleep(0.2)
    close_hard(link.client)
    raise ConnectionError("cut")


def die(link, stream):
    """The host goes away: the connection is reset and no new one is taken."""
    link.front.close()
    cut(link, stream)


def stall(link, _stream):
    """Nothing more arrives, and nobody says so."""
    link.front.over.wait()
    raise ConnectionError("over")


def reset_stream(link, stream):
    """Only this stream is ended; the connection goes on."""
    link.dead_streams.add(stream)
    link.write(frame(RST_STREAM, stream, struct.pack(">I", INTERNAL_ERROR)))
    link.to_upstream(frame(RST_STREAM, stream, struct.pack(">I", INTERNAL_ERROR)))


def go_away(link, stream):
    """The server asks for no new streams on this connection; what runs may end."""
    link.write(frame(GOAWAY, 0, struct.pack(">II", stream, 0)))


def go_away_abruptly(link, stream):
    """As a gRPC server does to a client whose pings annoy it."""
    link.write(frame(GOAWAY, 0, struct.pack(">II", stream, ENHANCE_YOUR_CALM) + b"too_many_pings"))
    close(link.client)
    raise ConnectionError("gone away")


for fault_in_frame in (cut, die, stall):
    fault_in_frame.in_frame = True


class Front:
    """Listens on a free port of 127.0.0.1 and relays to upstream_port; a silent one takes connections and no more."""

    def __init__(self, upstream_port, silent=False):
        self.upstream_port, self.silent = upstream_port, silent
        self.over = threading.Event()
        self.links = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _address = self.listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self.silent:
                    self.links.append(client)  # kept, or it would be closed
                else:
                    self.relay(client)

    def relay(self, client):
        server = socket.create_connection(("127.0.0.1", self.upstream_port))
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = Link(self, len(self.links), client, server)
        self.links.append(link)
        link.run()

    def link(self, peer):
        """The link whose server end a gRPC server calls peer."""
        return next((link for link in self.links if link.peer == peer), None)

    def close(self):
        close(self.listener)
        self.over.set()
