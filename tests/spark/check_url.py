# SPDX-License-Identifier: Apache-2.0
"""Connection strings: what lakecdc makes of them beside what Spark's own Python client does.

    LAKECDC=path/of/lakecdc python check_url.py

The one idea: both get the same strings. Of lakecdc one sees where it goes (a proxy that leads every tunnel to a scripted
server) and what it says there; of the Python client, its own parser's attributes. Where lakecdc takes less than the
client, on purpose, the string stands in STRICTER with the reason.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

import environment

if __name__ == "__main__":
    environment.enter_client_python(__file__)

import connect_proxy
from pyspark.sql.connect.client.core import DefaultChannelBuilder

LAKECDC = os.environ["LAKECDC"]
TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
UUID = "00112233-4455-4677-8899-aabbccddeeff"
STRINGS = [
    "sc://spark.example.org",
    "sc://spark.example.org/",
    "sc://spark.example.org/;",
    "sc://spark.example.org:",
    "sc://spark.example.org:443",
    "sc://SPARK.example.ORG:1",
    "sc://10.1.2.3:65535/",
    "sc://[::1]",
    "sc://[2001:DB8::7]:9999",
    "sc://localhost/;token=abc",
    "sc://LOCALHOST/;token=abc",
    "sc://localhost/;token=abc;use_ssl=true",
    "sc://localhost:77/;use_ssl=TRUE",
    "sc://h/;use_ssl=1",
    "sc://h/;use_ssl=false;x-a=1",
    "sc://127.0.0.1/;token=abc",
    "sc://localhost/;token=a%2Fb%3D%3B+c%20d%zz",
    "sc://h/;user_id=ann%40example.org",
    "sc://h/;user_id=first;user_id=second",
    "sc://h/;user_agent=my%20tool%2F1",
    f"sc://h/;session_id={UUID}",
    "sc://h/;session_id=not-one",
    "sc://h/;x-one=1;x-two=%3B%3d;x-one=3",
    "sc://h/;Token=abc",
    "sc://h/;x-empty=",
    "sc://h/;user_agent=" + "a" * 2048,
    "sc://h/;user_agent=" + "a" * 2049,
    "sc://h/;user_agent=" + "%2B" * 683,
    "sc://h/;user_agent=" + "%2B" * 682,
    "sc://h/;novalue",
    "sc://h/;a=b=c",
    "sc://h/;x-a=1;",
    "sc://h/;x-a=1;;x-b=2",
    "sc://h/path",
    "sc://h/path/;x-a=1",
    "sc://",
    "sc://:15002",
    "sc://h:port",
    "sc://h:65536",
]
STRICTER = {
    "sc://h/?token=abc": "a query says nothing to Spark, and a token there would be lost without a word",
    "sc://h/#token": "so would this",
    "sc://ann:pw@h": "a name and a password there are not used",
    "sc://localhost/;token=": "a token without letters opens nothing",
    "sc://h/;x-a=%0A": "no header can carry it; the client fails later",
    "sc://h/;grpc-timeout=1": "the protocol's own header; the client fails later",
}


def by_python(text):
    """Where the client goes, whether with TLS, and what it says; None when it refuses the string."""
    try:
        builder = DefaultChannelBuilder(text)
        metadata = dict(builder.metadata())
        agent, session = builder.userAgent, builder.session_id
    except Exception as error:  # of many classes
        return None, f"{type(error).__name__}: {error}"
    is_plain = not builder.secure or (not builder.use_ssl and builder.host == "localhost")
    said = {
        "endpoint": builder.endpoint,
        "tls": not is_plain,
        "token": builder.token,
        "user_id": builder.userId,
        "metadata": {key.lower(): value for key, value in metadata.items()},
        "agent": builder._params.get("user_agent"),
        "session": session,
    }
    return said, agent


def by_lakecdc(text, proxy, record):
    """The same of lakecdc."""
    env = {**os.environ, **dict.fromkeys(("no_proxy", "NO_PROXY"), "")}
    env.update(dict.fromkeys(("http_proxy", "https_proxy"), f"http://127.0.0.1:{proxy.port}"))
    before, first = len(proxy.asked), sum(1 for _line in open(record, encoding="utf-8"))
    words = [LAKECDC, "probe", text, "--table", "shop.t", "--timeout", "1"]
    run = subprocess.run(words, capture_output=True, text=True, env=env, timeout=60)
    if run.returncode == 2:
        return None, run.stderr
    if len(proxy.asked) == before:
        raise AssertionError(f"{text}: went nowhere: {run.returncode} {run.stderr}")
    said = {"endpoint": proxy.asked[before], "tls": proxy.tls[before]}
    with open(record, encoding="utf-8") as file:
        calls = [json.loads(line) for line in file][first:]
    if not said["tls"]:
        call = next(each for each in calls if each.get("rpc"))
        metadata = {key: value for key, value in call["metadata"].items() if key.startswith(("x-", "tok"))}
        agent = re.match(r"(?:(.*) )?lakecdc/", call["metadata"]["user-agent"])
        said.update(metadata=metadata, agent=agent[1], user_id=call["user_id"], session=call["session"])
        said["token"] = call["bearer"]
    return said, run.stderr


def differences(python, ours):
    if python is None or ours is None:
        return [] if python is ours else [f"the client {'refuses' if python is None else 'takes'} it, lakecdc does not"]
    if ours["tls"]:  # the scripted server is not asked: what is said is seen with the plain strings
        ours = {**python, **ours}
    if ours["user_id"] == "lakecdc" and python["user_id"] is None:
        ours["user_id"] = None
    if python["session"] is None:
        ours["session"] = None
    return [f"{key}: {python[key]!r} / {ours[key]!r}" for key in python if python[key] != ours[key]]


def check_all(proxy, record):
    problems = []
    os.environ.pop(TOKEN, None)
    for token, strings in ((None, STRINGS), ("from-env", ["sc://localhost", "sc://h", "sc://localhost/;token=own"])):
        if token:
            os.environ[TOKEN] = token
        for text in strings:
            (python, why), (ours, error) = by_python(text), by_lakecdc(text, proxy, record)
            found = differences(python, ours)
            problems += [f"{text[:80]}: {each} ({why} / {error.strip()})" for each in found]
            print(f"{'FAILED' if found else 'ok    '} {text[:100]}", flush=True)
    os.environ.pop(TOKEN, None)
    for text, reason in STRICTER.items():
        python, ours = by_python(text)[0], by_lakecdc(text, proxy, record)[0]
        if python is None or ours is not None:
            problems.append(f"{text}: expected to be taken by the client only, because {reason}")
        print(f"ok     {text[:60]}  ({reason})", flush=True)
    return problems


def main():
    with tempfile.TemporaryDirectory() as folder:
        port, record = os.path.join(folder, "port"), os.path.join(folder, "record")
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_server.py")
        words = [sys.executable, script, "--scenario", "healthy", "--port-file", port, "--record", record]
        server = subprocess.Popen([*words, "--max-seconds", "300"])
        try:
            while not os.path.exists(port):
                if server.poll() is not None:
                    sys.exit("the scripted server does not come up")
                time.sleep(0.1)
            with open(port, encoding="utf-8") as file:
                upstream = f"127.0.0.1:{file.read().strip()}"
            with connect_proxy.ConnectProxy(upstream=upstream) as proxy:
                problems = check_all(proxy, record)
        finally:
            server.terminate()
            server.wait(30)
    for each in problems:
        print(each)
    total = len(STRINGS) + len(STRICTER) + 3
    print(f"{total - len(problems)} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
