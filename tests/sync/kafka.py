#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kafka sink against a real broker: what the messages are, and what happens when things fail.

The one idea: one broker for all tests, a topic for each. What was sent is read back by another client.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from delta.tables import append, delete, table, update
from support import harness, kafka_broker
from support.sink_driver import Driver

COLUMNS = [{"name": "id", "type": "bigint"}, {"name": "price", "type": "decimal(10,2)"}, {"name": "note", "type": "string"}]
TS = 1_700_000_000_000_000
broker = None


def image(i, price="1.50", note=None):
    return {"id": i, "price": price, "note": note}


def row(op, before=None, after=None, snapshot=1):
    return {"op": op, "before": before, "after": after, "snapshot": snapshot, "ts": "2023-11-14T22:13:20.000000Z"}


def opening(topic, identity=("id",), **settings):
    return dict(sink="kafka", table="orders", source="lake", identity=list(identity), columns=COLUMNS,
                settings={"brokers": broker.address, "topic": topic, "timeout_ms": "20000", **settings})


def window(snapshot, rows, kind="changes", **more):
    return dict(kind=kind, snapshot=snapshot, ts=TS, rows=rows, cursor=f"c{snapshot}", **more)


def ids(messages):
    return [dict(m.headers())["lakecdc.event_id"].decode() for m in messages]


def test_the_envelope(folder):
    broker.topic("envelope")
    with Driver() as sink:
        sink("open", **opening("envelope", name="shop"))
        sink("window", **window(3, [row("insert", None, image(1)), row("insert", None, image(2))], "snapshot"))
        sink("window", **window(4, [row("delete", image(1)), row("update", image(2), image(2, "9.99", "é\n")), row("insert", None, image(3))], pad=1))
        sink("window", **window(5, [row("update_before", image(3)), row("update_after", None, image(3, "0.01"))]))
    got = broker.messages("envelope")
    values = [json.loads(m.value()) for m in got]
    assert [(json.loads(m.key()), v["op"]) for m, v in zip(got, values)] == [
        ({"id": 1}, "r"), ({"id": 2}, "r"), ({"id": 1}, "d"), ({"id": 2}, "u"), ({"id": 3}, "c"), ({"id": 3}, "d"), ({"id": 3}, "u")]
    assert [(v["before"], v["after"]) for v in values[:5]] == [
        (None, image(1)), (None, image(2)), (image(1), None), (image(2), image(2, "9.99", "é\n")), (None, image(3))]
    source = values[2]["source"]
    assert source["connector"] == "lakecdc" and source["name"] == "shop" and source["table"] == "orders" and source["commit"] == 4
    assert source["ts_ms"] == TS // 1000 and source["snapshot"] == "false" and values[0]["source"]["snapshot"] == "true"
    assert source["version"] and abs(values[0]["ts_ms"] / 1000 - time.time()) < 600
    assert [v["source"]["event_id"] for v in values] == ids(got) and len(set(ids(got))) == 7


def test_ids_are_the_same_when_a_window_comes_again(folder):
    broker.topic("again")
    rows = [row("delete", image(i)) for i in range(5)] + [row("insert", None, image(1, note=str(i))) for i in range(5)]
    for _ in range(2):
        with Driver() as sink:
            sink("open", **opening("again"))
            sink("window", **window(9, rows, batch=3))
            sink("window", **window(10, rows))
    got = ids(broker.messages("again"))
    assert len(got) == 40 and got[:20] == got[20:] and len(set(got)) == 20


def test_equal_rows_without_a_key_are_told_apart(folder):
    broker.topic("twins", 3)
    rows = [row("insert", None, image(1))] * 3 + [row("delete", image(1))] * 2
    for order in (rows, rows[::-1]):
        with Driver() as sink:
            sink("open", **opening("twins", identity=()))
            sink("window", **window(2, order))
    got = broker.messages("twins")
    assert all(m.key() is None for m in got) and len(got) == 10
    assert len(set(ids(got))) == 5, ids(got)


def test_ids_outlive_a_new_column(folder):
    """A window that is sent again after the table got a column has the ids of before."""
    broker.topic("grown")
    more = [*COLUMNS, {"name": "extra", "type": "string"}]
    rows = [row("insert", None, image(1)), row("update", image(2, note="x"), image(2))]
    wider = [row("insert", None, {**image(1), "extra": None}), row("update", {**image(2, note="x"), "extra": None}, {**image(2), "extra": None})]
    other = [row("insert", None, {**image(1), "extra": "e"})]
    with Driver() as sink:
        sink("open", **opening("grown"))
        sink("window", **window(3, rows))
    with Driver() as sink:
        sink("open", **{**opening("grown"), "columns": more})
        sink("window", **window(3, wider))
        sink("window", **window(3, other))
    found = ids(broker.messages("grown"))
    assert found[:2] == found[2:4] and found[4] != found[0] != found[1], found


def test_tombstones_and_schemas(folder):
    broker.topic("full")
    with Driver() as sink:
        sink("open", **opening("full", tombstones="true", schemas="true"))
        sink("window", **window(2, [row("delete", image(1)), row("insert", None, image(2))]))
    got = broker.messages("full")
    assert [m.value() is None for m in got] == [False, True, False] and got[0].key() == got[1].key()
    assert len(set(ids(got))) == 3
    value, key = json.loads(got[0].value()), json.loads(got[0].key())
    assert key["payload"] == {"id": 1} and key["schema"]["fields"] == [{"type": "int64", "optional": True, "field": "id"}]
    fields = {f["field"]: f for f in value["schema"]["fields"]}
    assert set(fields) == set(value["payload"]) and value["payload"]["op"] == "d"
    assert [(f["field"], f["type"]) for f in fields["before"]["fields"]] == [("id", "int64"), ("price", "string"), ("note", "string")]
    assert {f["field"] for f in fields["source"]["fields"]} == set(value["payload"]["source"])


def test_an_aborted_transaction_is_not_seen(folder):
    broker.topic("tx")
    with Driver() as sink:
        sink("open", **opening("tx", transactional_id="orders-1"))
        sink("begin", kind="changes", snapshot=1, ts=TS)
        sink("write", rows=[row("insert", None, image(i)) for i in range(100)])
        sink("abort")
        sink("window", **window(1, [row("insert", None, image(7))]))
        sink("begin", kind="changes", snapshot=2, ts=TS)
        sink("write", rows=[row("insert", None, image(8))])
        sink.kill()
    with Driver() as sink:
        sink("open", **opening("tx", transactional_id="orders-1"))
        sink("window", **window(2, [row("insert", None, image(9))]))
    assert [json.loads(m.key())["id"] for m in broker.messages("tx")] == [7, 9]


def test_a_broker_that_dies_and_comes_back(folder):
    broker.topic("down")
    with Driver() as sink:
        sink("open", **opening("down", timeout_ms="3000"))
        sink("window", **window(1, [row("insert", None, image(1))]))
        broker.stop()
        error = sink.refused("kafka.unavailable", "window", **window(2, [row("insert", None, image(2))]))
        assert error["retriable"] and "down" in error["message"]
        with Driver() as other:
            assert other.refused("kafka.unavailable", "open", **opening("down"))["retriable"]
        broker.start()
        sink("window", **window(2, [row("insert", None, image(2))]))
    seen = [json.loads(m.key())["id"] for m in broker.messages("down")]
    assert seen[0] == 1 and set(seen) == {1, 2}, seen


def test_cancelled_within_a_second(folder):
    broker.topic("cancel")
    with Driver() as sink:
        sink("open", **opening("cancel"))
        sink("window", **window(1, [row("insert", None, image(1))]))
        broker.pause(True)
        try:
            sink("cancel", after_ms=300)
            got = sink.ask(do="window", **window(2, [row("insert", None, image(2))]))
            assert got["error"]["reason"] == "cancelled" and got["ms"] < 1800, got
        finally:
            broker.pause(False)
        sink("cancel", after_ms=-1)
        sink("window", **window(2, [row("insert", None, image(2))]))


def test_what_is_refused(folder):
    broker.topic("refuse")
    with Driver() as sink:
        sink.refused("kafka.unknown_topic", "open", **opening("no-such-topic"))
        for settings in ({"properties": "enable.idempotence=false"}, {"properties": "plugin.library.paths=/tmp/x.so"}, {"properties": "nonsense"},
                         {"properties": "no.such.property=1"}, {"timeout_ms": "5"}, {"security_protocol": "what"}):
            error = sink.refused("request.bad_value", "open", **opening("refuse", **settings))
            assert not error["retriable"]
        error = sink.refused("request.bad_value", "open", **opening("refuse", properties="ssl.key.password=hush\nlinger.ms=hush"))
        assert "hush" not in error["message"] and "linger.ms" in error["message"]
        sink.refused("request.bad_value", "open", **opening("a topic"))
        sink("open", **opening("refuse", properties="# a remark\n linger.ms = 1 \nmessage.max.bytes=5000000\n"))
        error = sink.refused("kafka.message_too_large", "window", **window(2, [row("insert", None, image(1, note="x" * 2000000))]))
        assert not error["retriable"]
    with Driver() as sink:
        sink("open", **opening("refuse"))
        error = sink.refused("kafka.message_too_large", "window", **window(2, [row("insert", None, image(1, note="x" * 4000000))]))
        sink("window", **window(2, [row("insert", None, image(5))]))
    assert [json.loads(m.key())["id"] for m in broker.messages("refuse")] == [5]


def test_who_may_write(folder):
    broker.topic("sasl")
    way = dict(brokers=broker.sasl_address, security_protocol="sasl_plaintext", sasl_mechanism="PLAIN", username=kafka_broker.USER)
    with Driver() as sink:
        error = sink.refused("kafka.denied", "open", **opening("sasl", **way, password="wrong-hush"))
        assert "hush" not in error["message"] and not error["retriable"], error
        sink("open", **opening("sasl", **way, password=kafka_broker.PASSWORD))
        sink("window", **window(2, [row("insert", None, image(5))]))
    assert len(broker.messages("sasl")) == 1


def test_a_large_window_in_bounded_memory(folder):
    broker.topic("large")
    rows = [row("insert", None, image(i, note="n" * 5000)) for i in range(2000)]
    with Driver("quarantine_size_mb=8") as sink:  # what the sanitizer keeps of freed memory is none of ours
        sink("open", **opening("large", properties="queue.buffering.max.messages=1000"))
        sink("begin", kind="snapshot", snapshot=1, ts=TS)
        first = sink("write", rows=rows)["peak_kb"]
        for _ in range(12):
            last = sink("write", rows=rows)["peak_kb"]
        sink("commit", cursor="c")
    assert last - first < 90 << 10, (first, last)  # of 130 MB
    assert len(broker.messages("large")) == 13 * 2000


def test_sync_killed_again_and_again(folder):
    """Every event at least once, under one id, whatever the moment."""
    rng = random.Random(5)
    broker.topic("killed", 2)
    t = table(os.path.join(folder, "killed"))
    config = {"version": 1, "interval": "50ms", "sources": {"lake": {"path": "."}}, "sinks": {"bus": {"type": "kafka", "brokers": broker.address}},
              "tables": {"killed": {"source": "lake", "table": "killed", "sink": "bus", "identity": ["id"]}}}
    path = os.path.join(folder, "sync.yaml")
    with open(path, "w") as f:
        json.dump(config, f)
    live, next_id = [], 1
    for i in range(int(os.environ.get("LCDC_KAFKA_KILLS", "8"))):
        for _ in range(rng.randint(1, 3)):
            new = list(range(next_id, next_id + rng.randint(1, 4)))
            next_id += len(new)
            append(t, *new)
            live += new
            if rng.random() < 0.5:
                update(t, rng.choice(live), qty=rng.randint(1, 9999))
            if rng.random() < 0.4:
                delete(t, live.pop(rng.randrange(len(live))))
        p = subprocess.Popen([harness.CLI, "sync", path], stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.05, 0.9))
        p.kill()
        p.wait()
    r = harness.run("sync", path, "--once")
    assert r.code == 0, r.err
    messages = broker.messages("killed")
    state, seen = {}, {}
    for m in messages:
        v, event = json.loads(m.value()), dict(m.headers())["lakecdc.event_id"]
        what = (v["op"], json.dumps(v["before"]), json.dumps(v["after"]), v["source"]["commit"], v["source"]["snapshot"])
        assert seen.setdefault(event, what) == what, "an id of two events"
        state[m.key()] = v["after"]
    assert len(set(seen.values())) == len(seen), "an event with two ids"
    rows = harness.changes(t.root, "--bootstrap", "--from", t.latest).table().to_pylist()
    want = {r["after"]["id"]: r["after"] for r in rows}
    assert {v["id"]: v for v in state.values() if v} == want
    feed = harness.changes(t.root, "--identity", "id", "--fold").table().num_rows
    print(f"     {len(messages)} messages, {len(seen)} events, {feed} change rows")


def test_killed_while_the_first_state_is_sent(folder):
    """What was sent of a first state stays in the topic, so another run sends the same one, whatever the table is by then."""
    n = 40_000
    broker.topic("state", 2)
    t = table(os.path.join(folder, "state"))
    append(t, *range(1, n + 1), files=4)
    first = t.latest
    config = {"version": 1, "interval": "50ms", "retry": {"first": "50ms", "most": "200ms"}, "sources": {"lake": {"path": "."}},
              "sinks": {"bus": {"type": "kafka", "brokers": broker.address, "properties": "linger.ms=0\nqueue.buffering.max.messages=500"}},
              "tables": {"state": {"source": "lake", "table": "state", "sink": "bus", "identity": ["id"], "batch_rows": "100"}}}
    path = os.path.join(folder, "sync.yaml")
    with open(path, "w") as f:
        json.dump(config, f)
    ledger = lambda: harness.run("ledger", "show", "state", "--json", "--ledger", path)
    kills, deleted = 0, list(range(10, n, 977))
    for step in (1500, 12_000, 25_000):  # of the messages there are by then
        sent = broker.end("state")
        p = subprocess.Popen([harness.CLI, "sync", path], stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 60
            while broker.end("state") - sent < step:
                assert p.poll() is None and time.monotonic() < end, "the first state is not sent"
        finally:
            p.kill()
            p.wait()
        state = json.loads(ledger().out)
        if state["cursor"]:
            break
        kills += 1
        delete(t, *deleted[kills - 1::3])
        update(t, kills, qty=-kills)
        append(t, n + kills)
    assert kills, "no kill came within the first state"
    r = harness.run("sync", path, "--once")
    assert r.code == 0, r.err
    seen, last, states = {}, {}, set()
    for m in broker.messages("state"):
        v, event = json.loads(m.value()), dict(m.headers())["lakecdc.event_id"]
        what = (v["op"], json.dumps(v["before"]), json.dumps(v["after"]), v["source"]["commit"])
        assert seen.setdefault(event, what) == what, "an id of two events"
        last[m.key()] = v["after"]
        states |= {v["source"]["commit"]} if v["op"] == "r" else set()
    assert len(set(seen.values())) == len(seen), "an event with two ids"
    assert states == {first}, f"states of commits {states}, it began with {first}"
    assert sum(op == "r" for op, *_ in seen.values()) == n
    rows = t.rows()
    assert {v["id"]: v for v in last.values() if v} == {r["id"]: r for r in rows}
    print(f"     {kills} kills, {sum(1 for _ in seen)} events")


def main():
    global broker
    kafka_broker.prepare()
    folder = tempfile.mkdtemp(prefix="lakecdc-kafka-")
    try:
        with kafka_broker.Broker(folder) as broker:
            harness.main(__doc__)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
