#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hints between workers: a drain's connections are live elsewhere long before a poll could find them; without hints the
polls do it; a key that does not fit, and a port that is taken, do no harm."""
import contextlib
import signal
import socket

import fleet

KEY = "one key for these end-to-end tests"
# So slow that whoever waits for a poll is seen to.
SLOW = {"reconcile__unowned_every": "5s", "drain__handover": "20s"}


class Hints(fleet.FleetTest):
    def worker(self, name, key=KEY):
        self.fleet.environment["LONGHOLD_E2E_KEY"] = key
        return self.fleet.worker(name, peer__listen="127.0.0.1:0", peer__keys="${env:LONGHOLD_E2E_KEY}", **SLOW)

    def drained(self, names, leaving, staying):
        """Milliseconds for which each connection of `leaving` had no live socket when it was drained."""
        mock = self.mock_upstream
        moved = self.fleet.owned_by(leaving)
        self.assertTrue(moved, "the drained worker held something")
        leaving.signal(signal.SIGTERM)
        self.assertEqual(leaving.wait_exit(fleet.PATIENCE), 0)
        fleet.wait_for("all owned by the other", fleet.PATIENCE, lambda: len(self.fleet.owned_by(staying)) == len(names))
        mock.wait_live(names)
        gaps = []
        for name in moved:
            old, new = sorted(mock.feed(name)["sockets"], key=lambda each: each["opened_at_us"])[-2:]
            gaps.append((new["opened_at_us"] - old["closed_at_us"]) / 1000)
        return gaps

    def start(self, *keys):
        self.mock_upstream = self.mock()
        names = fleet.names(24)
        first = self.worker("w1", keys[0])
        second = self.worker("w2", keys[1])
        fleet.wait_for("both see each other", fleet.PATIENCE,
                       lambda: all(w.metric("longhold_sessions") == 2 for w in (first, second)))
        self.fleet.put_feeds(self.mock_upstream, names)
        self.mock_upstream.wait_live(names, fleet.PATIENCE + 10)
        fleet.wait_for("spread over both", fleet.PATIENCE, lambda: self.fleet.owned_by(first) and self.fleet.owned_by(second))
        return names, first, second

    def test_a_drain_is_taken_over_at_once(self):
        names, first, second = self.start(KEY, KEY)
        gaps = self.drained(names, first, second)
        self.assert_bound(max(gaps) / 1000, 0.5, "longest gap of a drain, with a poll every 5 s")
        self.assertGreater(second.metric("longhold_hints_total", '{direction="received",kind="released",result="taken"}'), 0)

    def test_hints_of_a_stranger_are_refused_and_the_polls_do_it(self):
        names, first, second = self.start(KEY, "quite another key than that")
        self.drained(names, first, second)
        self.assertGreater(second.metric("longhold_hints_refused_total", '{reason="signature"}'), 0)
        self.assertEqual(second.metric("longhold_hints_total", '{direction="received",kind="released",result="taken"}'), 0)

    def test_a_listener_that_is_taken_and_a_key_that_is_short_are_told(self):
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            done = self.fleet.run("serve", "--set", f"peer.listen={address}", "--set", f"peer.keys={KEY}", "--set",
                                  "admin.listen=127.0.0.1:0")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(address, done.stderr)
        done = self.fleet.run("serve", "--set", "peer.keys=short")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("peer.keys", done.stderr)
        done = self.fleet.run("config", "explain", "--set", f"peer.keys={KEY}")
        self.assertNotIn(KEY, done.stdout + done.stderr)


if __name__ == "__main__":
    fleet.main()
