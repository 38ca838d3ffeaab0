# SPDX-License-Identifier: Apache-2.0
"""Upstreams that misbehave: nothing already received is lost, and what cannot be had again is recorded."""
import http.server
import re
import threading

import evidence
import fleet
from fleet import PATIENCE, wait_for


class NotWebSocket(http.server.BaseHTTPRequestHandler):
    """Answers an upgrade as a web server would: 200 for /page, else 404."""

    def do_GET(self):
        body = b"just a page" if self.path == "/page" else b"nothing here"
        self.send_response(200 if self.path == "/page" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class UpstreamFaults(fleet.FleetTest):
    def hold(self, names, **spec):
        """A mock and a worker that holds `names` and has a hundred messages of each."""
        mock = self.mock(50)
        worker = self.fleet.worker("w1", dial__backoff_max="1s")
        self.fleet.put_feeds(mock, names, **spec)
        mock.wait_live(names)
        wait_for("a hundred messages of each", PATIENCE, lambda: all(
            mock.feed(name)["streams"][0]["head"] >= 100 for name in names))
        evidence.wait_delivered(self.fleet, mock, names)
        return mock, worker

    def test_a_sequence_that_restarts_at_one_becomes_a_new_stream(self):
        mock, _ = self.hold(["a"])
        before = [line for line in self.lines() if '"kind":"data"' in line]
        mock.fault("a", "restart_sequence=in_place")
        wait_for("a second stream upstream", PATIENCE, lambda: len(mock.feed("a")["streams"]) == 2)
        figures, wrong = evidence.settle(self.fleet, mock, ["a"])
        self.assertEqual(wrong, [], figures)
        self.assertEqual(figures["redelivered"], 0)
        known = set(before)
        self.assertEqual([line for line in self.lines() if line in known], before, "old records are untouched")
        found = evidence.records(self.fleet, "a")
        self.assertEqual({record["stream"] for record in found}, {1, 2})
        second = [record for record in found if record["stream"] == 2]
        self.assertEqual((second[0]["kind"], second[0]["reason"]), ("state", "sequence_restart"))
        self.assertEqual((second[1]["kind"], second[1]["seq"]), ("data", 1))
        self.assertEqual([record for record in found if record["kind"] == "gap"], [])

    def lines(self):
        paths = sorted(self.fleet.messages.glob("*.ndjson"))
        return [line for path in paths for line in path.read_text().split("\n")[:-1]]

    def test_a_restart_while_nobody_listened_is_a_gap_and_a_new_stream(self):
        mock, _ = self.hold(["a"])
        mock.fault("a", "restart_sequence=drop")
        wait_for("a second stream is delivered", PATIENCE, lambda: any(
            record["stream"] == 2 and record["kind"] == "data" for record in evidence.records(self.fleet, "a")))
        notes = [(record["kind"], record["reason"], record["stream"]) for record in evidence.records(self.fleet, "a")
                 if record["kind"] != "data"]
        self.assertIn(("gap", "sequence_restart", 1), notes, "how far the old numbering went is not known")
        self.assertIn(("state", "sequence_restart", 2), notes)
        second = [record["seq"] for record in evidence.records(self.fleet, "a")
                  if record["stream"] == 2 and "seq" in record]
        self.assertEqual(second, list(range(1, len(second) + 1)), "the new numbering is had from its beginning")

    def test_breaches_of_the_protocol_cost_a_reconnect_and_no_message(self):
        kinds = ["reserved_bit", "opcode", "masked", "text", "long_ping"]
        names = [kind.replace("_", "-") for kind in kinds]
        mock, worker = self.hold(names)
        for kind, name in zip(kinds, names):
            mock.fault(name, f"garbage={kind}")
        wait_for("each connected again", PATIENCE, lambda: all(len(mock.feed(name)["sockets"]) >= 2 for name in names))
        mock.wait_live(names)
        figures, wrong = evidence.settle(self.fleet, mock, names)
        self.assertEqual(wrong, [], figures)
        for name in names:
            line = re.search(rf"connection lost connection={name} .*", worker.log())
            self.assertIsNotNone(line, f"{name} is named in the log")
            self.assertIn("reason=protocol_violation", line[0])
            self.assertRegex(line[0], r'detail="[^"]{10,}"')

    def test_a_message_over_the_limit_costs_a_reconnect_and_no_message(self):
        mock, worker = self.hold(["a"], limits={"frame_bytes": "1KiB", "message_bytes": "1KiB"})
        mock.fault("a", "oversize=4096")
        line = worker.wait_log(r"connection lost connection=a .*")[0]
        self.assertIn("reason=message_too_big", line)
        self.assertRegex(line, "1024")
        wait_for("it is connected again", PATIENCE, lambda: mock.feed("a")["live"] == 1)
        figures, wrong = evidence.settle(self.fleet, mock, ["a"])
        self.assertEqual(wrong, [], figures)

    def test_closes_resets_and_trickles_cost_no_message(self):
        faults = {"closing": "close=1001", "dropped": "drop&times=3&after=5", "one-byte": "one_byte",
                  "unwell": "close=1011&times=2&after=3"}
        mock, _ = self.hold(list(faults))
        for name, fault in faults.items():
            mock.fault(name, fault)
        wait_for("those that break connected again", PATIENCE, lambda: all(
            len(mock.feed(name)["sockets"]) >= 2 for name in faults if name != "one-byte"))
        mock.wait_live(list(faults))
        figures, wrong = evidence.settle(self.fleet, mock, list(faults))
        self.assertEqual(wrong, [], figures)

    def test_a_server_that_is_no_websocket_server_is_named_with_what_it_answered(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), NotWebSocket)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        worker = self.fleet.worker("w1")
        for name in ("page", "missing"):
            self.fleet.do("connection", "put", name, "--url", f"ws://127.0.0.1:{server.server_port}/{name}")
        for name, status, body in (("page", 200, "just a page"), ("missing", 404, "nothing here")):
            line = worker.wait_log(rf"dial failed connection={name} .*")[0]
            self.assertIn("reason=handshake_refused", line)
            self.assertIn(f"http_status={status}", line)
            self.assertIn(body, line)
        self.assertTrue(worker.ready(), "an upstream's fault is no fault of the process")


if __name__ == "__main__":
    fleet.main()
