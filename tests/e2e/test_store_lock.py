# SPDX-License-Identifier: Apache-2.0
"""Another process holds the store file's write lock: sockets close by their deadline, nobody exits, nothing is lost."""
import time

import evidence
import fleet
from fleet import LEASE, PATIENCE, now_us, wait_for

RESUMED_WITHIN = 5.0


class StoreLock(fleet.FleetTest):
    def setUp(self):
        self.names = fleet.names(12)
        self.upstream = self.mock()
        self.workers = [self.fleet.worker(name) for name in ("w1", "w2")]
        self.fleet.put_feeds(self.upstream, self.names)
        self.upstream.wait_live(self.names)
        evidence.wait_delivered(self.fleet, self.upstream, self.names)

    def sockets(self):
        return {name: self.upstream.feed(name)["sockets"] for name in self.names}

    def test_two_leases_of_it_cost_time_and_no_message(self):
        before = {name: len(sockets) for name, sockets in self.sockets().items()}
        with self.fleet.locked_store():
            locked = time.monotonic()
            locked_us = now_us()
            wait_for("all sockets are closed", PATIENCE, lambda: self.upstream.live(self.names) == 0)
            wait_for("two leases have passed", 3 * LEASE, lambda: time.monotonic() - locked > 2 * LEASE)
            after = {name: len(sockets) for name, sockets in self.sockets().items()}
            self.assertEqual(after, before, "nobody dials without a lease")
        unlocked_us = now_us()
        closed = max(sockets[before[name] - 1]["closed_at_us"] for name, sockets in self.sockets().items())
        self.assert_bound((closed - locked_us) / 1e6, LEASE, "lock to the end of the last socket")
        self.upstream.wait_live(self.names)
        opened = max(sockets[-1]["opened_at_us"] for sockets in self.sockets().values())
        self.assert_bound((opened - unlocked_us) / 1e6, RESUMED_WITHIN, "unlock to the last resumed socket")
        for name, sockets in self.sockets().items():
            self.assertEqual(len(sockets), before[name] + 1, name)
            self.assertGreater(int(sockets[-1]["cursor"] or 0), 0, f"{name} resumed by cursor")
        self.assertEqual([worker.running() for worker in self.workers], [True, True])
        figures, wrong = evidence.settle(self.fleet, self.upstream, self.names)
        self.assertEqual(wrong, [], figures)

    def test_less_than_a_lease_of_it_closes_nothing(self):
        before = self.sockets()
        with self.fleet.locked_store():
            locked = time.monotonic()
            wait_for("half a lease has passed", LEASE, lambda: time.monotonic() - locked > LEASE / 2)
        heads = evidence.wait_delivered(self.fleet, self.upstream, self.names)
        self.assertEqual(len(heads), len(self.names))
        for name, sockets in self.sockets().items():
            self.assertEqual(len(sockets), len(before[name]), name)
            self.assertIsNone(sockets[-1]["closed_at_us"], name)
        figures, wrong = evidence.settle(self.fleet, self.upstream, self.names)
        self.assertEqual(wrong, [], figures)


if __name__ == "__main__":
    fleet.main()
