# SPDX-License-Identifier: Apache-2.0
"""An ordered stop: connections are handed over, what was received is delivered, the process ends in time with 0."""
import re
import signal
import time

import evidence
import fleet
from fleet import LEASE, PATIENCE, now_us, wait_for

HANDOVER_GAP_P99 = 1.0
# What a store that takes no writes may cost a stop: the session's right runs out, and the close has its budget.
CLOSE_BUDGET = 2.0


class Drain(fleet.FleetTest):
    def test_sigterm_hands_over_and_loses_nothing(self):
        mock, names = self.mock(), fleet.names(12)
        workers = [self.fleet.worker(name) for name in ("w1", "w2", "w3")]
        self.fleet.put_feeds(mock, names)
        mock.wait_live(names)
        evidence.wait_delivered(self.fleet, mock, names)
        leaving = max(workers, key=lambda worker: len(self.fleet.owned_by(worker)))
        held, session = self.fleet.owned_by(leaving), leaving.session()
        event = {"at_us": now_us(), "kind": "drain", "worker": leaving.name, "session": session, "connections": held}
        began = time.monotonic()
        leaving.signal(signal.SIGTERM)
        self.assertEqual(leaving.wait_exit(PATIENCE), 0, leaving.log())
        self.assert_bound(time.monotonic() - began, 5, "SIGTERM to exit")
        mock.wait_live(names)
        figures, wrong = evidence.settle(self.fleet, mock, names, [event])
        self.assertEqual(wrong, [], figures)
        self.assertEqual(figures["redelivered"], 0, "what was acked before the release is not asked for again")
        self.assertEqual(figures["handover_gap_ms"]["count"], len(held))
        print(f"    handover gap of {len(held)} connections: {evidence.milliseconds(figures['handover_gap_ms'])}")
        self.assert_bound(figures["handover_gap_ms"]["p99"] / 1e6, HANDOVER_GAP_P99, "handover gap, p99")
        states = {row["id"]: row["state"] for row in self.fleet.dump()["sessions"]}
        self.assertIn(states.get(session, "LEFT"), ("LEFT",), "the session was left, not fenced")
        for name in held:
            self.assertIn("client_close", [socket["how"] for socket in mock.feed(name)["sockets"]])

    def test_the_only_worker_leaves_and_the_next_one_goes_on(self):
        mock, names = self.mock(), fleet.names(6)
        first = self.fleet.worker("w1")
        self.fleet.put_feeds(mock, names)
        mock.wait_live(names)
        evidence.wait_delivered(self.fleet, mock, names)
        first.signal(signal.SIGTERM)
        self.assertEqual(first.wait_exit(PATIENCE), 0, first.log())
        self.assertEqual(mock.live(names), 0)
        self.assertEqual([row["owner"] for row in self.fleet.connections().values()], [None] * len(names))
        self.fleet.worker("w2")
        mock.wait_live(names)
        for name in names:
            self.assertIsNotNone(mock.feed(name)["sockets"][-1]["cursor"], f"{name} resumed by cursor")
        figures, wrong = evidence.settle(self.fleet, mock, names)
        self.assertEqual(wrong, [], figures)
        self.assertEqual(figures["redelivered"], 0)

    def test_a_second_sigterm_skips_waits_and_nothing_else(self):
        mock, names = self.mock(), fleet.names(6)
        worker = self.fleet.worker("w1", drain__balancer_wait="60s")
        self.fleet.put_feeds(mock, names)
        mock.wait_live(names)
        worker.signal(signal.SIGTERM)
        wait_for("readyz turned", PATIENCE, lambda: not worker.ready())
        self.assertEqual(mock.live(names), len(names), "it serves on while it waits")
        worker.signal(signal.SIGTERM)
        began = time.monotonic()
        self.assertEqual(worker.wait_exit(PATIENCE), 0, worker.log())
        self.assert_bound(time.monotonic() - began, 5, "second SIGTERM to exit")
        self.assertIn("waits are skipped now, flushes are not", worker.log())
        self.fleet.worker("w2")
        mock.wait_live(names)
        figures, wrong = evidence.settle(self.fleet, mock, names)
        self.assertEqual(wrong, [], figures)
        self.assertEqual(figures["redelivered"], 0)

    def started_with_a_locked_store(self, **settings):
        """A worker that asked for its session and has no answer, for as long as the store is locked."""
        worker = self.fleet.worker("w2", ready=False, **settings)
        worker.wait_log("unknown outcome.*locked by another process")
        self.assertEqual([worker.ask(path)[0] for path in ("/livez", "/startupz")], [200, 503])
        return worker

    def test_sigterm_during_the_start_with_a_store_that_stays_locked(self):
        self.fleet.do("store", "init")
        with self.fleet.locked_store():
            worker = self.started_with_a_locked_store()
            worker.signal(signal.SIGTERM)
            began = time.monotonic()
            self.assertEqual(worker.wait_exit(PATIENCE), 1, "its session may stand, and cannot be left")
            self.assert_bound(time.monotonic() - began, CLOSE_BUDGET + 2, "SIGTERM during the start to exit")
            self.assertIn("could not be ended in the store; it is left to fencing", worker.log())
        self.assertTrue(self.fleet.worker("w3").ready(), "nothing is left in the way of the next")

    def test_sigterm_during_the_start_with_a_store_that_is_free_again_in_time(self):
        self.fleet.do("store", "init")
        with self.fleet.locked_store():
            worker = self.started_with_a_locked_store(drain__close=f"{PATIENCE}s")
            worker.signal(signal.SIGTERM)
            worker.wait_log("stopping.*step=close")
        self.assertEqual(worker.wait_exit(PATIENCE), 0, worker.log())
        self.assertNotRegex(worker.log(), r"(?m)left to fencing|cannot go on|^\S+ error ")
        self.assertLessEqual({row["state"] for row in self.fleet.dump()["sessions"]}, {"FENCED", "LEFT"})

    def test_sigterm_while_the_store_is_being_opened(self):
        with self.fleet.locked_store():  # a file that is no store yet: nothing of it can be read or made
            worker = self.fleet.worker("w1", ready=False)
            self.assertGreater(worker.port, 0)
            worker.signal(signal.SIGTERM)
            began = time.monotonic()
            self.assertEqual(worker.wait_exit(PATIENCE), 0, worker.log())
            self.assert_bound(time.monotonic() - began, 2, "SIGTERM while the store is being opened to exit")
            self.assertNotIn("start failed", worker.log())

    def test_sigterm_as_the_first_thing_is_an_ordered_stop(self):
        worker = self.fleet.worker("w1", ready=False)
        self.assertGreater(worker.port, 0)
        worker.signal(signal.SIGTERM)
        self.assertEqual(worker.wait_exit(PATIENCE), 0, worker.log())
        self.assertEqual(re.findall(" stopped (.*)", worker.log()), ["exit_code=0"])

    def test_a_locked_store_does_not_hold_up_a_stop_for_long(self):
        mock, names = self.mock(), fleet.names(6)
        worker = self.fleet.worker("w1", sinks__main__checkpoint_every="30s")  # there is something left to write
        self.fleet.put_feeds(mock, names)
        mock.wait_live(names)
        evidence.wait_delivered(self.fleet, mock, names)
        with self.fleet.locked_store():
            worker.signal(signal.SIGTERM)
            began = time.monotonic()
            self.assertEqual(worker.wait_exit(PATIENCE + 20), 1, worker.log())
            self.assert_bound(time.monotonic() - began, LEASE + CLOSE_BUDGET + 2, "SIGTERM with a locked store to exit")
            self.assertIn("the session was lost meanwhile", worker.log())
            self.assertEqual(mock.live(names), 0)
        self.fleet.worker("w2")
        mock.wait_live(names)
        figures, wrong = evidence.settle(self.fleet, mock, names)
        self.assertEqual(wrong, [], figures)


if __name__ == "__main__":
    fleet.main()
