# SPDX-License-Identifier: Apache-2.0
"""A real Kafka broker for a test: one KRaft node from the jars of scripts/kafka_env.sh, on free ports of 127.0.0.1.

It makes no topics on its own. Two listeners: plain text, and SASL with one user. `stop`, `kill`, `pause` act on the
process that was started here and on no other.
"""
import os
import signal
import socket
import subprocess
import time
import uuid
import base64

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
JARS = os.path.join(os.environ.get("LCDC_KAFKA_DIR", os.path.join(ROOT, "build", "kafka")), "jars")
USER, PASSWORD = "alice", "s3cret-of-alice"


def prepare():
    """The jars; nothing to do when they are there."""
    subprocess.run([os.path.join(ROOT, "scripts", "kafka_env.sh")], check=True, stdout=subprocess.DEVNULL, timeout=1500)


def free_ports(n):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Broker:
    def __init__(self, folder):
        self.folder = folder
        self.port, self.sasl_port, controller = free_ports(3)
        self.address, self.sasl_address = f"127.0.0.1:{self.port}", f"127.0.0.1:{self.sasl_port}"
        self.conf = os.path.join(folder, "broker.properties")
        jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
        with open(self.conf, "w") as f:
            f.write("\n".join([
                "process.roles=broker,controller", "node.id=1", f"log.dirs={folder}/data",
                f"listeners=PLAINTEXT://{self.address},SASL://{self.sasl_address},CONTROLLER://127.0.0.1:{controller}",
                f"advertised.listeners=PLAINTEXT://{self.address},SASL://{self.sasl_address}",
                "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
                "controller.listener.names=CONTROLLER", "inter.broker.listener.name=PLAINTEXT",
                f"controller.quorum.voters=1@127.0.0.1:{controller}", "sasl.enabled.mechanisms=PLAIN",
                f"listener.name.sasl.plain.sasl.jaas.config={jaas}", "auto.create.topics.enable=false",
                "offsets.topic.replication.factor=1", "offsets.topic.num.partitions=1",
                "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
                "transaction.state.log.num.partitions=1", "group.initial.rebalance.delay.ms=0",
                "num.network.threads=1", "num.io.threads=2", "log.cleaner.enable=false", ""]))
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        subprocess.run(self.java("kafka.tools.StorageTool", "format", "-t", cluster, "-c", self.conf), check=True,
                       capture_output=True, timeout=120)
        self.process = None
        self.start()

    def java(self, *words):
        return ["java", "-Xmx256m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dkafka.logs.dir={self.folder}",
                "-cp", os.path.join(JARS, "*"), *words]

    def start(self):
        with open(os.path.join(self.folder, "broker.log"), "ab") as log:
            self.process = subprocess.Popen(self.java("kafka.Kafka", self.conf), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.wait()

    def wait(self):
        from confluent_kafka.admin import AdminClient
        admin, end = AdminClient({"bootstrap.servers": self.address, "log_level": 0}), time.monotonic() + 120
        while True:
            try:
                if admin.list_topics(timeout=5).brokers:
                    return
            except Exception:
                pass
            assert time.monotonic() < end and self.process.poll() is None, "the broker did not start; see broker.log"
            time.sleep(0.2)

    def topic(self, name, partitions=1):
        from confluent_kafka.admin import AdminClient, NewTopic
        admin = AdminClient({"bootstrap.servers": self.address})
        for future in admin.create_topics([NewTopic(name, partitions, 1)]).values():
            future.result(30)

    def messages(self, topic, committed=True):
        """Every message of the topic so far, in the order of each partition."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": str(uuid.uuid4()), "enable.auto.commit": False,
                             "isolation.level": "read_committed" if committed else "read_uncommitted",
                             "enable.partition.eof": True})
        try:
            parts = [TopicPartition(topic, p, OFFSET_BEGINNING) for p in consumer.list_topics(topic, 30).topics[topic].partitions]
            consumer.assign(parts)
            found, ended, end = [], set(), time.monotonic() + 60
            while len(ended) < len(parts):
                assert time.monotonic() < end, "no end of the topic within 60 s"
                m = consumer.poll(1)
                if m is None:
                    continue
                if m.error():
                    assert m.error().code() == -191, m.error()  # _PARTITION_EOF
                    ended.add(m.partition())
                else:
                    found.append(m)
            return found
        finally:
            consumer.close()

    def end(self, topic):
        """How many messages the topic has had."""
        from confluent_kafka import Consumer, TopicPartition
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": str(uuid.uuid4())})
        try:
            return sum(consumer.get_watermark_offsets(TopicPartition(topic, p), 30)[1] for p in consumer.list_topics(topic, 30).topics[topic].partitions)
        finally:
            consumer.close()

    def pause(self, on):
        self.process.send_signal(signal.SIGSTOP if on else signal.SIGCONT)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
