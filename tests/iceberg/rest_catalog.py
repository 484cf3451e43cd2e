#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables named by a REST catalog: what is asked of it, in which order, with which token, and what its answers do.

The one idea: a server in this process answers from a table of paths and notes every request, so each test says what the
catalog knows and looks at what was asked. It listens on 127.0.0.1 alone.
"""
import http.server, json, os, sys, threading, urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support.harness import check_refused, main, run, same_rows
from support.iceberg_harness import Truth, rows_of
from support.iceberg_writer import Table

COLUMNS = [("id", "long"), ("name", "string")]


class Catalog:
    """`answers`: path -> (status, JSON or bytes); a function of the request is called for its answer."""

    def __init__(self, answers):
        self.requests, self.answers, outer = [], answers, self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                outer.requests.append((self.command, self.path, self.headers.get("Authorization"), body))
                status, answer = outer.answers.get(self.path, (404, {"error": {"message": "nothing here", "type": "NoSuchTableException", "code": 404}}))
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.uri = f"http://127.0.0.1:{self.server.server_address[1]}/api"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def table(folder):
    t = Table(f"{folder}/t", COLUMNS)
    t.append([(i, f"n{i}") for i in range(5)])
    t.delete_mor(lambda r: r["id"] == 2)
    return t, t.save()


def loaded(path, inline=True):
    with open(path) as h:
        metadata = json.load(h)
    return {"metadata-location": path, "config": {}, **({"metadata": metadata} if inline else {})}


def changes(uri, name, env=None):
    return run("changes", uri, "--table", name, "--format", "arrow", env={"LAKECDC_CATALOG_TOKEN": "", "LAKECDC_CATALOG_CREDENTIAL": "", **(env or {})})


def check(t, result):
    same_rows(rows_of(result.table()), Truth(t).changes(None, t.current))


def test_metadata_inline_and_by_its_place(folder):
    t, path = table(folder)
    for inline in (True, False):
        with Catalog({"/api/v1/config": (200, {"defaults": {}, "overrides": {}}), "/api/v1/namespaces/db/tables/t": (200, loaded(path, inline))}) as c:
            check(t, changes(c.uri, "db.t"))
            check(t, changes(c.uri + "/", "db.t"))
            assert {(m, p) for m, p, _, _ in c.requests} == {("GET", "/api/v1/config"), ("GET", "/api/v1/namespaces/db/tables/t")}, c.requests
            assert all(token is None for _, _, token, _ in c.requests)


def test_a_table_that_moved(folder):
    t = Table(f"{folder}/t", COLUMNS, location="s3://bucket/t")
    t.append([(1, "a")])
    local = t.save()
    for inline in (True, False):
        answer = loaded(local, inline) | {"metadata-location": "s3://bucket/t/metadata/" + os.path.basename(local)}
        with Catalog({"/api/v1/config": (200, {}), "/api/v1/namespaces/db/tables/t": (200, answer)}) as c:
            check(t, run("changes", c.uri, "--table", "db.t", "--format", "arrow", "--path-map", f"s3://bucket/t={t.root}"))


def test_namespaces_prefix_and_warehouse(folder):
    t, path = table(folder)
    config = "/api/v1/config?warehouse=my%20house%2Fx"
    place = "/api/v1/p/1/namespaces/a%1Fb%20c/tables/t%25%C3%BC"
    with Catalog({config: (200, {"defaults": {"prefix": "p/1"}, "overrides": {}}), place: (200, loaded(path))}) as c:
        check(t, changes(c.uri + "?warehouse=my%20house%2Fx", "a.b c.t%ü"))
    with Catalog({"/api/v1/config": (200, {"defaults": {"prefix": "no"}, "overrides": {"prefix": "yes"}}), "/api/v1/yes/namespaces/db/tables/t": (200, loaded(path))}) as c:
        check(t, changes(c.uri + "?prefix=mine", "db.t"))
    with Catalog({"/api/v1/config": (404, {}), "/api/v1/mine/namespaces/db/tables/t": (200, loaded(path))}) as c:
        check(t, changes(c.uri + "?prefix=mine", "db.t"))


def test_tokens(folder):
    t, path = table(folder)
    answers = {"/api/v1/config": (200, {}), "/api/v1/namespaces/db/tables/t": (200, loaded(path)), "/api/v1/oauth/tokens": (200, {"access_token": "made", "token_type": "bearer"}), "/api/elsewhere": (200, {"access_token": "other"})}
    for env, query, token, posts in (({"LAKECDC_CATALOG_TOKEN": "abc"}, "", "abc", []), ({}, "?token=q%2B1", "q+1", []), ({"LAKECDC_CATALOG_CREDENTIAL": "me:s&cret"}, "", "made", ["/api/v1/oauth/tokens"]), ({"LAKECDC_CATALOG_CREDENTIAL": "me:secret"}, "?scope=all%20of%20it&oauth2-server-uri={uri}/elsewhere", "other", ["/api/elsewhere"])):
        with Catalog(answers) as c:
            check(t, changes(c.uri + query.replace("{uri}", c.uri), "db.t", env))
            asked = [p for m, p, _, _ in c.requests if m == "POST"]
            assert set(asked) == set(posts), asked
            assert all(a == f"Bearer {token}" for m, _, a, _ in c.requests if m == "GET"), c.requests
            for _, _, a, body in [r for r in c.requests if r[0] == "POST"]:
                form = urllib.parse.parse_qs(body)
                assert a is None and form["grant_type"] == ["client_credentials"] and form["client_id"] == ["me"], body
                assert form["client_secret"] in (["s&cret"], ["secret"]) and form["scope"] in (["catalog"], ["all of it"]), body


def test_refusals_keep_what_is_private(folder):
    t, path = table(folder)
    bad = {"not found": (404, {"error": {"message": "no such table"}}), "denied": (403, {"error": {"message": "go away\nnow"}}), "broken": (500, b"<html>"), "no location": (200, {"metadata": {}}), "no object": (200, [1]), "no JSON": (200, b"\xff{"), "another type": (200, {"metadata-location": 7}),
           "metadata of nothing": (200, {"metadata-location": path, "metadata": {}}), "a list": (200, {"metadata-location": path, "metadata": [1, 2]}), "nowhere": (200, {"metadata-location": "/nowhere/v1.metadata.json"})}
    for name, answer in bad.items():
        with Catalog({"/api/v1/config": (200, {}), "/api/v1/namespaces/db/tables/t": answer}) as c:
            line = check_refused(changes(c.uri + "?token=verysecret", "db.t", {"LAKECDC_CATALOG_CREDENTIAL": "me:othersecret"}))
            assert "secret" not in line, line
    with Catalog({"/api/v1/oauth/tokens": (401, {"error": {"message": "bad client"}})}) as c:
        line = check_refused(changes(c.uri, "db.t", {"LAKECDC_CATALOG_CREDENTIAL": "me:othersecret"}), "token", "401")
        assert "secret" not in line, line
    check_refused(changes("http://127.0.0.1:1/api", "db.t"))
    with Catalog({"/api/v1/config": (200, {"overrides": {"uri": "ftp://x/y"}})}) as c:
        check_refused(changes(c.uri, "db.t"))


def test_names_that_are_no_names(folder):
    with Catalog({"/api/v1/config": (200, {})}) as c:
        for name in ("t", ".t", "db."):
            check_refused(changes(c.uri, name), "namespace.table")
        check_refused(run("changes", c.uri, "--format", "arrow"), "--table")
        check_refused(changes(c.uri + "?colour=blue", "db.t"), "colour")


def test_probe_and_follow(folder):
    t, path = table(folder)
    answers = {"/api/v1/config": (200, {}), "/api/v1/namespaces/db/tables/t": (200, loaded(path))}
    with Catalog(answers) as c:
        r = run("probe", c.uri, "--table", "db.t", "--json")
        assert r.code == 0 and json.loads(r.out)["format"] == "iceberg", (r.out, r.err)
        seen = t.current
        t.append([(50, "new")])
        answers["/api/v1/namespaces/db/tables/t"] = (200, loaded(t.save()))
        got = run("changes", c.uri, "--table", "db.t", "--format", "arrow", "--from", seen.id, "--from-exclusive")
        same_rows(rows_of(got.table()), Truth(t).changes(seen, t.current))


if __name__ == "__main__":
    main()
