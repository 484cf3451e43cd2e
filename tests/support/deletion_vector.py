# SPDX-License-Identifier: Apache-2.0
"""Deletion vectors as bytes, written by hand.

The one idea: the tests must not share an encoder with the reader under test, so the portable Roaring layout, the
Z85 text and the vector file framing are spelled out here from their specifications. Containers can be forced
(`array`, `bitmap`, `run`) so that every branch of a decoder meets real data.
"""
import struct
import uuid
import zlib

MAGIC = 1681511377
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_ARRAY_MAX = 4096
_COOKIE, _COOKIE_RUNS = 12346, 12347


def z85(data):
    """Z85 text of bytes; the tail is padded with zeros to whole groups of four."""
    data += b"\0" * (-len(data) % 4)
    out = []
    for (word,) in struct.iter_unpack(">I", data):
        out.append("".join(_Z85[word // 85**k % 85] for k in (4, 3, 2, 1, 0)))
    return "".join(out)


def _runs(values):
    runs = []
    for v in values:
        if runs and runs[-1][0] + runs[-1][1] + 1 == v:
            runs[-1][1] += 1
        else:
            runs.append([v, 0])
    return runs


def _container(low, kind):
    """(is_run, bytes) of the sorted 16-bit values of one container."""
    if kind == "run":
        runs = _runs(low)
        return True, struct.pack("<H", len(runs)) + b"".join(struct.pack("<HH", s, n) for s, n in runs)
    if kind == "bitmap" or len(low) > _ARRAY_MAX:
        bits = bytearray(8192)
        for v in low:
            bits[v >> 3] |= 1 << (v & 7)
        return False, bytes(bits)
    return False, struct.pack(f"<{len(low)}H", *low)


def roaring32(values, kind="auto"):
    """The standard 32-bit Roaring serialisation. `kind`: auto, array, run, or mixed (alternating containers).

    The format tells arrays from bitmaps by cardinality (at most 4096: array), so a bitmap cannot be forced on a small
    container; a large one always is a bitmap unless it is a run."""
    groups = {}
    for v in sorted(values):
        groups.setdefault(v >> 16, []).append(v & 0xFFFF)
    made = []
    for i, (key, low) in enumerate(groups.items()):
        want = {"mixed": "run" if i % 2 else "auto"}.get(kind, kind)
        if want == "auto" and 2 + 4 * len(_runs(low)) < min(2 * len(low), 8192):
            want = "run"
        made.append((key, len(low), *_container(low, "run" if want == "run" else "auto")))
    any_run = any(is_run for _, _, is_run, _ in made)
    if any_run:
        head = struct.pack("<I", _COOKIE_RUNS | (len(made) - 1) << 16)
        flags = bytearray((len(made) + 7) // 8)
        for i, (_, _, is_run, _) in enumerate(made):
            flags[i >> 3] |= is_run << (i & 7)
        head += bytes(flags)
    else:
        head = struct.pack("<II", _COOKIE, len(made))
    head += b"".join(struct.pack("<HH", key, n - 1) for key, n, _, _ in made)
    if not any_run or len(made) >= 4:
        at = len(head) + 4 * len(made)
        offsets = []
        for *_, body in made:
            offsets.append(at)
            at += len(body)
        head += struct.pack(f"<{len(offsets)}I", *offsets)
    return head + b"".join(body for *_, body in made)


def payload(positions, kind="auto", magic=MAGIC):
    """Magic and 64-bit portable Roaring: what a descriptor's sizeInBytes counts."""
    buckets = {}
    for p in positions:
        buckets.setdefault(p >> 32, []).append(p & 0xFFFFFFFF)
    out = struct.pack("<IQ", magic, len(buckets))
    for high in sorted(buckets):
        out += struct.pack("<I", high) + roaring32(buckets[high], kind)
    return out


def frame(data, crc=None):
    """One vector inside a vector file: size, payload, checksum (`crc` overrides it to make a damaged one)."""
    return struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data) if crc is None else crc)


class VectorFile:
    """One deletion_vector_<uuid>.bin holding any number of vectors; `add` gives back the descriptor's offset."""

    def __init__(self):
        self.uuid = uuid.uuid4()
        self.body = b"\x01"

    def add(self, data, crc=None):
        at = len(self.body)
        self.body += frame(data, crc)
        return at

    @property
    def name(self):
        return f"deletion_vector_{self.uuid}.bin"

    def text(self, prefix=""):
        return prefix + z85(self.uuid.bytes)


def descriptor_inline(positions, kind="auto"):
    data = payload(positions, kind)
    return {"storageType": "i", "pathOrInlineDv": z85(data), "sizeInBytes": len(data), "cardinality": len(set(positions))}


if __name__ == "__main__":
    assert z85(bytes.fromhex("864fd26fb559f75b")) == "HelloWorld"
    assert z85(payload([3, 4, 7, 11, 18, 29], "array")) == "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
    import random
    try:
        from pyroaring import BitMap, BitMap64
    except ImportError:
        raise SystemExit("needs pyroaring to check the encoder against")
    r = random.Random(1)
    for n, span in ((0, 10), (1, 1), (50, 100), (5000, 9000), (60000, 70000), (4096, 65536), (4097, 65536), (3000, 1 << 31), (200, 6 << 16)):
        v = sorted(r.sample(range(span), n))
        for kind in ("auto", "array", "run", "mixed"):
            assert list(BitMap.deserialize(roaring32(v, kind))) == v, (n, span, kind)
    v = [1, 2, 3, 1 << 33, (5 << 32) + 7]
    assert list(BitMap64.deserialize(payload(v)[4:])) == v
    print("the encoder agrees with pyroaring")
