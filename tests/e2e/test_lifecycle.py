# SPDX-License-Identifier: Apache-2.0
"""What operators do to connections reaches their sockets in time: put, start, stop, delete, a changed spec."""
import time

import evidence
import fleet
from fleet import PATIENCE, SHORT, wait_for

START_WITHIN = 1.0
STOP_WITHIN = 3.0


class Lifecycle(fleet.FleetTest):
    def test_start_is_live_within_a_second_and_stop_closes_within_three(self):
        mock, names = self.mock(), fleet.names(10)
        self.fleet.worker("w1", lease__duration="6s", lease__heartbeat_every="2s")
        for name in names:
            self.fleet.do("connection", "put", name, "--url", mock.url(name), "--set", "sequence.field=/seq", "--set",
                          "sequence.first=1", "--set", "resume.query=cursor", "--stopped")
        self.assertEqual(mock.oracle()["ids"], {}, "nothing that is stopped is dialled")
        starts, stops = [], []
        for number in range(1 if SHORT else 2):
            starts += self.times("start", mock, names, lambda feed, before=number: len(feed["sockets"]) > before,
                                 "opened_at_us")
            stops += self.times("stop", mock, names, lambda feed: feed["live"] == 0, "closed_at_us")
        self.assert_bound(max(starts), START_WITHIN, f"`connection start` to live, slowest of {len(starts)}")
        self.assert_bound(max(stops), STOP_WITHIN, f"`connection stop` to closed, slowest of {len(stops)}")
        oracle = mock.oracle()
        for name in names:
            self.assertEqual({socket["how"] for socket in oracle["ids"][name]["sockets"]}, {"client_close"}, name)
        heads = {name: {"stream": 1, "seq": 0} for name in names}
        figures, wrong = evidence.judge(self.fleet, oracle, heads)
        self.assertEqual(wrong, [], figures)

    def times(self, verb, mock, names, reached, field):
        """Seconds from the return of the command for each name to what the oracle saw of it."""
        returned = {}
        for name in names:
            self.fleet.do("connection", verb, name)
            returned[name] = time.time()
        wait_for(f"all are {verb}ed", PATIENCE, lambda: all(reached(mock.feed(name)) for name in names))
        return [mock.feed(name)["sockets"][-1][field] / 1e6 - returned[name] for name in names]

    def test_delete_closes_the_socket_and_keeps_the_epoch(self):
        mock = self.mock()
        self.fleet.worker("w1")
        self.fleet.put_feeds(mock, ["gone"])
        mock.wait_live(["gone"])
        epoch = self.fleet.connections()["gone"]["epoch"]
        self.fleet.do("connection", "delete", "gone", "--yes")
        returned = time.time()
        wait_for("the socket is closed", PATIENCE, lambda: mock.feed("gone")["live"] == 0)
        closed = mock.feed("gone")["sockets"][0]["closed_at_us"]
        self.assert_bound(closed / 1e6 - returned, STOP_WITHIN, "`connection delete` to closed")
        self.assertEqual(self.fleet.connections(), {})
        got = self.fleet.run("connection", "get", "gone", "--store", self.fleet.settings["store.url"])
        self.assertEqual(got.returncode, 1)
        self.assertIn('there is no connection "gone"', got.stderr)
        self.fleet.put_feeds(mock, ["gone"])
        mock.wait_live(["gone"])
        self.assertGreater(self.fleet.connections()["gone"]["epoch"], epoch, "the tombstone kept the epoch")

    def test_a_changed_spec_reconnects_and_goes_on_where_it_was(self):
        mock = self.mock()
        self.fleet.worker("w1")
        self.fleet.put_feeds(mock, ["a"])
        mock.wait_live(["a"])
        evidence.wait_delivered(self.fleet, mock, ["a"])
        self.fleet.put_feeds(mock, ["a"], headers={"X-Changed": "yes"})
        wait_for("a second socket", PATIENCE, lambda: len(mock.feed("a")["sockets"]) == 2)
        mock.wait_live(["a"])
        first, second = mock.feed("a")["sockets"]
        self.assertEqual(first["how"], "client_close")
        self.assertGreater(int(second["cursor"]), 0, "it resumed by cursor")
        figures, wrong = evidence.settle(self.fleet, mock, ["a"])
        self.assertEqual(wrong, [], figures)
        self.assertEqual(figures["redelivered"], 0)
        self.assertEqual({record["stream"] for record in evidence.records(self.fleet)}, {1})

    def test_another_url_begins_a_new_stream(self):
        mock = self.mock()
        self.fleet.worker("w1")
        self.fleet.put_feeds(mock, ["a"])
        mock.wait_live(["a"])
        evidence.wait_delivered(self.fleet, mock, ["a"])
        self.fleet.put_feeds(mock, ["a"], url=mock.url("b"))
        mock.wait_live(["b"])
        wait_for("records of a second stream", PATIENCE, lambda: any(
            record["stream"] == 2 and record["kind"] == "data" for record in evidence.records(self.fleet)))
        self.assertEqual(mock.feed("a")["live"], 0)
        self.assertIsNone(mock.feed("b")["sockets"][0]["cursor"], "the cursor of another upstream means nothing here")
        notes = [record for record in evidence.records(self.fleet) if record["kind"] != "data"]
        self.assertIn(("state", "spec_change", 2), [(note["kind"], note["reason"], note["stream"]) for note in notes])
        self.assertIn(("gap", "spec_change", 1), [(note["kind"], note["reason"], note["stream"]) for note in notes])


if __name__ == "__main__":
    fleet.main()
