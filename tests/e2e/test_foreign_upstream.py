# SPDX-License-Identifier: Apache-2.0
"""An upstream that is not ours, npm's `ws`: subscribed and resumed by message, over plain TCP and over TLS."""
import json
import os
import pathlib
import signal
import subprocess
import unittest

import evidence
import fleet
from fleet import PATIENCE, wait_for

HERE = pathlib.Path(__file__).parent
NODE_PATH = os.environ.get("NODE_PATH", str(HERE / "node_modules"))


def has_ws():
    return any((pathlib.Path(folder) / "ws").is_dir() for folder in NODE_PATH.split(os.pathsep))


class Foreign(fleet.Process):
    def __init__(self, folder, *tls):
        super().__init__("foreign", ["node", str(HERE / "foreign_upstream.cjs"), *map(str, tls)], folder,
                         stdin=subprocess.PIPE, env=os.environ | {"NODE_PATH": NODE_PATH})
        self.port = int(self.wait_match(r"^(\d+)\n", self.output)[1])

    def events(self, kind, path="/stream"):
        """What happened of one kind to clients of a path, in order."""
        lines = self.output().split("\n")[1:-1]
        return [event for event in map(json.loads, lines) if event["event"] == kind and event["path"] == path]

    def command(self, line):
        self.popen.stdin.write(line.encode() + b"\n")
        self.popen.stdin.flush()

    def open_clients(self):
        return {event["client"] for event in self.events("open")} - {event["client"] for event in self.events("close")}


@unittest.skipUnless(has_ws(), f"the npm package ws is not in {NODE_PATH}; `./dev test` installs it")
class ForeignUpstream(fleet.FleetTest):
    def put(self, name, url, **more):
        spec = {"url": url, "headers": {"X-Token": "{token}"}, "variables": {"token": "t-1"},
                "open": {"send": []}, "sequence": {"field": "/event/id", "first": 1},
                "resume": {"message": '{"subscribe":"' + name + '","after":{cursor}}'},
                "liveness": {"ping_every": "300ms", "ping_timeout": "5s"}} | more
        self.fleet.do("connection", "import", "-", stdin=json.dumps({"id": name, "spec": spec}))

    def ids(self, name):
        """The upstream's ids, in the order of the sink."""
        return [record["seq"] for record in evidence.records(self.fleet, name) if record["kind"] == "data"]

    def wait_beyond(self, name, count):
        wait_for(lambda: f"more than {count} records of {name}: {self.ids(name)[-3:]}", PATIENCE,
                 lambda: len(self.ids(name)) > count)

    def assert_whole(self, name):
        """Every id from the first one on, at least once."""
        got = self.ids(name)
        self.assertEqual(sorted(set(got)), list(range(min(got), max(got) + 1)))
        self.assertEqual([record for record in evidence.records(self.fleet, name) if record["kind"] == "gap"], [])

    def through_a_close_and_a_kill(self, upstream, url, **more):
        first = self.fleet.worker("w1")
        self.put("feed", url, open={"send": [json.dumps({"subscribe": "feed"})]}, **more)
        self.wait_beyond("feed", 20)
        self.assertEqual(upstream.events("open")[0]["token"], "t-1")
        self.assertEqual(json.loads(upstream.events("message")[0]["text"]), {"subscribe": "feed"})
        self.put("quiet", url.replace("/stream", "/quiet"), **more)
        wait_for("where nothing comes, it is pinged", PATIENCE, lambda: len(upstream.events("ping", "/quiet")) >= 2)
        upstream.command("ping")
        wait_for("a ping is answered", PATIENCE, lambda: upstream.events("pong") and upstream.events("pong", "/quiet"))
        self.assertEqual(upstream.events("close", "/quiet"), [])
        self.fleet.do("connection", "stop", "quiet")

        upstream.command("close 1001")
        wait_for("it is connected again", PATIENCE, lambda: len(upstream.events("open")) == 2)
        self.assertEqual([event["code"] for event in upstream.events("close")], [1001])
        wait_for("it resumes by message", PATIENCE, lambda: '"after":' in upstream.events("message")[-1]["text"])
        self.assertIn("close_code=1001", first.wait_log("connection lost connection=feed .*")[0])
        self.wait_beyond("feed", len(self.ids("feed")) + 20)
        self.assert_whole("feed")

        second = self.fleet.worker("w2")
        self.assertIn("feed", self.fleet.owned_by(first))
        first.signal(signal.SIGKILL)
        first.wait_exit(PATIENCE)
        wait_for("the other worker has it", PATIENCE, lambda: "feed" in self.fleet.owned_by(second))
        wait_for("it is connected a third time", PATIENCE, lambda: len(upstream.events("open")) == 3)
        self.wait_beyond("feed", len(self.ids("feed")) + 20)
        self.assert_whole("feed")
        self.assertEqual(len(upstream.open_clients()), 1)
        self.fleet.do("connection", "stop", "feed")
        wait_for("it is closed", PATIENCE, lambda: not upstream.open_clients())
        self.assertEqual(upstream.events("close")[-1]["code"], 1000)
        self.assertEqual(upstream.events("error"), [])
        self.assert_whole("feed")

    def test_plain(self):
        upstream = Foreign(self.fleet.folder)
        self.through_a_close_and_a_kill(upstream, f"ws://127.0.0.1:{upstream.port}/stream")

    def test_tls(self):
        ca, certificate, key = self.make_certificates()
        upstream = Foreign(self.fleet.folder, certificate, key)
        self.through_a_close_and_a_kill(upstream, f"wss://localhost:{upstream.port}/stream", tls={"ca_file": str(ca)})

    def test_a_certificate_that_does_not_verify_is_refused_and_named(self):
        ca, certificate, key = self.make_certificates()
        upstream = Foreign(self.fleet.folder, certificate, key)
        worker = self.fleet.worker("w1")
        self.put("stranger", f"wss://localhost:{upstream.port}/stream")
        self.put("misnamed", f"wss://127.0.0.1:{upstream.port}/stream", tls={"ca_file": str(ca)})
        stranger = worker.wait_log("dial failed connection=stranger .*")[0]
        self.assertIn("reason=tls_failed", stranger)
        self.assertRegex(stranger, "certificate.*(issuer|self-signed|not trusted)")
        misnamed = worker.wait_log("dial failed connection=misnamed .*")[0]
        self.assertIn("reason=tls_failed", misnamed)
        self.assertRegex(misnamed, "(?i)(IP address|host ?name) mismatch|127.0.0.1")
        self.assertEqual(upstream.events("open"), [])

    def make_certificates(self):
        """(CA, certificate for localhost, its key), as PEM files."""
        folder = self.fleet.folder

        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

        new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test CA")
        openssl("req", *new[:-2], "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
        (folder / "server.ext").write_text("subjectAltName=DNS:localhost\n")
        openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                "-days", "2", "-extfile", "server.ext", "-out", "server.pem")
        return folder / "ca.pem", folder / "server.pem", folder / "server.key"


if __name__ == "__main__":
    fleet.main()
