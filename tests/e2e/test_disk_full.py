# SPDX-License-Identifier: Apache-2.0
"""The sink's disk is full: intake pauses, the process says so and stays up, and afterwards everything is delivered."""
import contextlib
import os
import subprocess
import unittest

import evidence
import fleet
from fleet import PATIENCE, holds_for, wait_for

MIB = 1024 * 1024
DISK = 32 * MIB
FREE = 2 * MIB


class DiskFull(fleet.FleetTest):
    def mount_small_disk(self):
        self.fleet.messages.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "longhold-e2e", str(self.fleet.messages)]
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            reason = mounted.stderr.strip()
            print(f"    skipped: a tmpfs cannot be mounted here: {reason}")
            raise unittest.SkipTest(f"a tmpfs cannot be mounted here: {reason}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", str(self.fleet.messages)], check=False)

    def test_a_full_disk_costs_time_and_no_message(self):
        self.mount_small_disk()
        ballast = self.fleet.messages / "ballast"
        with open(ballast, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, DISK - FREE)
        mock, names = self.mock(50, "--size", "4096"), fleet.names(6)
        worker = self.fleet.worker("w1", worker__intake_bytes="1MiB")
        self.fleet.put_feeds(mock, names)
        mock.wait_live(names)

        wait_for("the sink says that it is stuck", PATIENCE, lambda: worker.metric("longhold_sink_stuck") == 1)
        wait_for("health says why", PATIENCE, lambda: "sink_stuck" in worker.health()["degraded"])
        self.assertRegex(worker.health()["degraded"]["sink_stuck"], "(?i)no space left|disk is full")
        self.assertGreater(worker.metric("longhold_sink_failures_total"), 0)
        wait_for("intake pauses: the upstream can send no more", PATIENCE, lambda: self.nothing_moves(mock, worker))
        pending = worker.metric("longhold_pending_bytes")
        print(f"    paused with {pending / MIB:.2f} MiB pending of 1 MiB and a message of each connection")
        self.assertLess(pending, 1.5 * MIB)
        holds_for("the process stays up, live, and holds its sockets", 1, lambda: (
            worker.ask("/livez")[0] == 200 and mock.live(names) == len(names)))

        ballast.unlink()
        wait_for("the sink goes on", PATIENCE, lambda: worker.metric("longhold_sink_stuck") == 0)
        figures, wrong = evidence.settle(self.fleet, mock, names)
        self.assertEqual(wrong, [], figures)
        self.assertTrue(worker.running())
        wait_for("health is as before", PATIENCE, lambda: worker.health()["degraded"] == {})

    def nothing_moves(self, mock, worker):
        def taken():
            return worker.metric("longhold_messages_total")

        before = taken()
        with contextlib.suppress(AssertionError):
            holds_for("no message is taken in", 0.5, lambda: taken() == before)
            return True
        return False


if __name__ == "__main__":
    fleet.main()
