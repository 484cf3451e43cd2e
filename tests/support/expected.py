# SPDX-License-Identifier: Apache-2.0
"""What a change request must give, worked out from the truth a table builder keeps.

The one idea: the steps of a request (label, net, drop no-ops, filter, fold, project) are applied one by one to plain
lists, in the documented order, by code that shares nothing with the product. Must not know: any file format.
"""
import collections
from dataclasses import dataclass, field

from .delta_schema import freeze
from .predicate import holds, text


@dataclass
class Request:
    first: int
    last: int
    columns: list = None
    where: tuple = None
    identity: list = None
    fold: bool = False
    net: bool = False
    drop_noop: bool = False
    bounds: list = None                        # another way to say the range on the command line
    more: list = field(default_factory=list)   # further command-line words

    def words(self):
        w = self.bounds or ["--from", str(self.first), "--to", str(self.last)]
        if self.columns:
            w += ["--columns", ",".join(self.columns)]
        if self.where:
            w += ["--where", text(self.where)]
        if self.identity:
            w += ["--identity", ",".join(self.identity)]
        return w + [f"--{k.replace('_', '-')}" for k in ("fold", "net", "drop_noop") if getattr(self, k)] + self.more


def _own(change):
    return change[2] if change[2] is not None else change[1]


def pair(changes, identity):
    """A delete and an insert of one identity in one commit become the halves of an update; an identity that occurs
    more than once on a side is not guessed at."""
    sides = collections.defaultdict(lambda: {"delete": [], "insert": []})
    for i, c in enumerate(changes):
        if c[0] in ("delete", "insert"):
            sides[c[3], tuple(freeze(_own(c)[n]) for n in identity)][c[0]].append(i)
    label = {}
    for both in sides.values():
        if len(both["delete"]) == len(both["insert"]) == 1:
            label[both["delete"][0]], label[both["insert"][0]] = "update_before", "update_after"
    return [(label.get(i, c[0]), *c[1:]) for i, c in enumerate(changes)]


def net_of(before, after, identity):
    """The difference of two states: by identity, or as multisets."""
    if identity is None:
        b, a = collections.Counter(map(freeze, before)), collections.Counter(map(freeze, after))
        gone, come = b - a, a - b
        pick = lambda rows, counts: [r for r in rows if counts[freeze(r)] and not counts.subtract([freeze(r)])]
        return [("delete", r, None, None) for r in pick(before, gone)] + [("insert", None, r, None) for r in pick(after, come)]
    key = lambda r: tuple(freeze(r[i]) for i in identity)
    old, new, out = {key(r): r for r in before}, {key(r): r for r in after}, []
    for k, r in old.items():
        if k not in new:
            out.append(("delete", r, None, None))
        elif freeze(r) != freeze(new[k]):
            out += [("update_before", r, None, None), ("update_after", None, new[k], None)]
    return out + [("insert", None, r, None) for k, r in new.items() if k not in old]


def _match_halves(changes, identity):
    """Index of the other half for every update half that has one."""
    waiting, other = collections.defaultdict(list), {}
    key = lambda c: (c[3], tuple(freeze(_own(c)[i]) for i in identity))
    for i, c in enumerate(changes):
        if c[0] == "update_before":
            waiting[key(c)].append(i)
    for i, c in enumerate(changes):
        if c[0] == "update_after" and waiting[key(c)]:
            j = waiting[key(c)].pop(0)
            other[i], other[j] = j, i
    return other


def expected(table, q):
    """The change rows (op, before, after, snapshot) of a request on a builder table, in any order inside a commit."""
    if q.net:
        rows = net_of(*table.net(q.first, q.last), q.identity)
    else:
        rows = [tuple(c) for c in table.changes(q.first, q.last)]
        if q.identity:
            rows = pair(rows, q.identity)
    if q.drop_noop:
        other = _match_halves(rows, q.identity)
        rows = [c for i, c in enumerate(rows) if i not in other or freeze(_own(c)) != freeze(_own(rows[other[i]]))]
    other = _match_halves(rows, q.identity) if q.fold else {}
    keep = [q.where is None or holds(q.where, _own(c)) is True for c in rows]
    out = []
    for i, c in enumerate(rows):
        j = other.get(i)
        if j is None:
            if keep[i]:
                out.append(c)
        elif c[0] == "update_before" and (keep[i] or keep[j]):
            if keep[i] and keep[j]:
                out.append(("update", c[1], rows[j][2], c[3]))
            else:
                out.append(c if keep[i] else rows[j])
    cut = lambda r: None if r is None or not q.columns else {n: r[n] for n in q.columns}
    return [(op, cut(b) if q.columns else b, cut(a) if q.columns else a, s) for op, b, a, s in out]


def signed(rows):
    """The net effect per commit: (snapshot, image) -> count, zero left out. What is compared when labels are free."""
    total = collections.Counter()
    for op, b, a, s in rows:
        if b is not None:
            total[s, freeze(b)] -= 1
        if a is not None:
            total[s, freeze(a)] += 1
    return {k: n for k, n in total.items() if n}


def exact(rows):
    return collections.Counter((op, freeze(b), freeze(a), s) for op, b, a, s in rows)
