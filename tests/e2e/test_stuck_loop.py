# SPDX-License-Identifier: Apache-2.0
"""One I/O thread of a worker hangs: its sockets are reset, its connections go on elsewhere, the rest is undisturbed."""
import ctypes
import os
import pathlib
import unittest

import evidence
import fleet
from fleet import PATIENCE, wait_for

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
WAIT_ALL = 0x40000000  # __WALL: for threads, too
# Until a loop that does not turn is given up (2 s), its connections are released, claimed and dialled.
MOVED_WITHIN = 4.0

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def hang(process, thread):
    """Stops one thread of a process, by its name, as a tracer does. Returns its id, for let_go()."""
    for task in pathlib.Path(f"/proc/{process.popen.pid}/task").iterdir():
        if (task / "comm").read_text().strip() == thread:
            number = int(task.name)
            if _libc.ptrace(SEIZE, number, None, None) != 0:
                raise unittest.SkipTest(f"a thread cannot be traced here: {os.strerror(ctypes.get_errno())}")
            _libc.ptrace(INTERRUPT, number, None, None)
            os.waitpid(number, WAIT_ALL)
            return number
    raise AssertionError(f"{process.name} has no thread {thread}")


def let_go(thread):
    _libc.ptrace(DETACH, thread, None, None)


class StuckLoop(fleet.FleetTest):
    def test_a_hanging_thread_loses_its_sockets_and_no_message(self):
        mock, names = self.mock(), fleet.names(12)
        workers = [self.fleet.worker(name) for name in ("w1", "w2")]
        self.fleet.put_feeds(mock, names)
        mock.wait_live(names)
        evidence.wait_delivered(self.fleet, mock, names)
        worker = max(workers, key=lambda each: len(self.fleet.owned_by(each)))
        before = {name: len(mock.feed(name)["sockets"]) for name in names}
        session, hung_us = worker.session(), fleet.now_us()
        thread = hang(worker, "io-0")
        try:
            wait_for("sockets of the hanging thread are replaced", PATIENCE, lambda: self.moved(mock, before))
            mock.wait_live(names)
            moved = self.moved(mock, before)
            wait_for("livez asks for a restart", PATIENCE, lambda: worker.ask("/livez")[0] == 503)
            self.assertIn("io-0", worker.ask("/livez")[1])
            self.assertEqual(worker.session(), session, "the other thread serves on")
            self.assertLess(len(moved), len(names))
        finally:
            let_go(thread)
        print(f"    {len(moved)} of {len(names)} connections were on the hanging thread")
        for name in moved:
            self.assertEqual(mock.feed(name)["sockets"][before[name] - 1]["how"], "reset", name)
        last = max(mock.feed(name)["sockets"][before[name]]["opened_at_us"] for name in moved)
        self.assert_bound((last - hung_us) / 1e6, MOVED_WITHIN, "hang to the last new socket")
        wait_for("livez is well again", PATIENCE, lambda: worker.ask("/livez")[0] == 200)
        figures, wrong = evidence.settle(self.fleet, mock, names)
        self.assertEqual(wrong, [], figures)

    def moved(self, mock, before):
        return [name for name, count in before.items() if len(mock.feed(name)["sockets"]) > count]


if __name__ == "__main__":
    fleet.main()
