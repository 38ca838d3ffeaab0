# SPDX-License-Identifier: Apache-2.0
"""A worker that dies or stands still: others take its connections over, nothing is lost, and nobody acts twice."""
import signal
import time
import unittest

import evidence
import fleet
from fleet import LEASE, PATIENCE, SHORT, holds_for, now_us, wait_for

# Beyond the lease: looks, the claim, the dial and the first message (DESIGN, G5).
RECOVERY_BEYOND_LEASE = 1.5
RESET_WITHIN = 1.0


class Crash(fleet.FleetTest):
    def three_workers(self, names, **settings):
        """A mock and three workers that hold `names`; the first holds some of them."""
        mock = self.mock()
        workers = [self.fleet.worker(name, ready=False, **settings) for name in ("w1", "w2", "w3")]
        for worker in workers:
            worker.wait_ready()
        self.fleet.put_feeds(mock, names)
        mock.wait_live(names)
        return mock, workers

    def busiest(self, workers):
        """The worker that holds most, and what it holds."""
        held = {worker: self.fleet.owned_by(worker) for worker in workers}
        worker = max(workers, key=lambda each: len(held[each]))
        return worker, held[worker]

    def kill_one(self, lease, names, **settings):
        mock, workers = self.three_workers(names, **settings)
        evidence.wait_delivered(self.fleet, mock, names)
        victim, held = self.busiest(workers)
        self.assertGreater(len(held), 0)
        event = {"at_us": now_us(), "kind": "kill", "worker": victim.name, "connections": held}
        victim.signal(signal.SIGKILL)
        self.assertEqual(victim.wait_exit(PATIENCE), -signal.SIGKILL)
        mock.wait_live(names)
        figures, wrong = evidence.settle(self.fleet, mock, names, [event])
        self.assertEqual(wrong, [], figures)
        self.assertEqual(figures["crash_recovery_ms"]["count"], len(held))
        print(f"    {len(held)} connections: {evidence.milliseconds(figures['crash_recovery_ms'])}; "
              f"{figures['redelivered']} messages redelivered")
        self.assert_bound(figures["crash_recovery_ms"]["max"] / 1e6, lease + RECOVERY_BEYOND_LEASE, "crash recovery")

    def test_all_connections_of_a_killed_worker_are_back_within_its_lease(self):
        self.kill_one(LEASE, fleet.names(12))

    @unittest.skipIf(SHORT, "a short run has the short lease only")
    def test_with_the_default_lease_recovery_takes_at_most_seven_and_a_half_seconds(self):
        self.kill_one(6.0, fleet.names(30), lease__duration="6s", lease__heartbeat_every="2s",
                      sinks__main__checkpoint_every="5s")

    def test_a_paused_worker_acts_no_more_when_it_goes_on(self):
        names = fleet.names(12)
        mock, workers = self.three_workers(names)
        evidence.wait_delivered(self.fleet, mock, names)
        victim, held = self.busiest(workers)
        old = victim.session()
        before = {name: len(mock.feed(name)["sockets"]) for name in held}
        victim.signal(signal.SIGSTOP)
        stopped = time.monotonic()
        # Two leases, and until the others have all: whichever is later.
        wait_for("others have opened its connections", PATIENCE, lambda: time.monotonic() - stopped > 2 * LEASE and all(
            len(mock.feed(name)["sockets"]) > before[name] for name in held))
        went_on = now_us()
        victim.signal(signal.SIGCONT)
        wait_for("its old sockets are closed", PATIENCE, lambda: mock.live(names) == len(names))
        slowest = 0
        for name in held:
            socket = mock.feed(name)["sockets"][before[name] - 1]
            self.assertEqual(socket["how"], "reset", name)
            slowest = max(slowest, socket["closed_at_us"] - went_on)
        self.assert_bound(slowest / 1e6, RESET_WITHIN, "SIGCONT to the reset of the last old socket")
        wait_for("a second since SIGCONT", 5, lambda: now_us() - went_on > RESET_WITHIN * 1e6)
        sizes = self.fleet.sizes(old)
        self.assertEqual(len(sizes), 1)
        holds_for("the old session's file does not grow", 1, lambda: self.fleet.sizes(old) == sizes)

        wait_for("it has joined anew", PATIENCE, lambda: victim.session() not in ("", old))
        self.assertTrue(victim.ready())
        self.assertEqual(victim.metric("longhold_self_fences_total", '{reason="expired"}'), 1)
        figures, wrong = evidence.settle(self.fleet, mock, names)
        # The upstream saw two sockets while the old one was paused, of which no promise is made.
        sockets = sum(evidence.check_proof.socket_overlaps(feed) for feed in mock.oracle()["ids"].values())
        self.assertEqual((figures["lost"], figures["unknown"], figures["overlaps"] - sockets), (0, 0, 0), wrong)
        self.assert_nothing_beyond_resume_points(old, held)

    def assert_nothing_beyond_resume_points(self, session, names):
        found = evidence.records(self.fleet)
        points = evidence.resume_points(found)
        for name in names:
            last = max((record["epoch"], record["ordinal"]) for record in found
                       if record["session"] == session and record["connection"] == name)
            later = [point for epoch, point in points[name].items() if epoch > last[0]]
            self.assertTrue(later, f"{name} has a later epoch")
            self.assertGreaterEqual(min(later), last, f"{name}: a record lies beyond the next epoch's resume point")


if __name__ == "__main__":
    fleet.main()
