# SPDX-License-Identifier: Apache-2.0
"""check_proof agrees with a true claim, and turns red when one line, one time or one number is changed."""
import copy
import datetime
import json
import pathlib
import subprocess
import tempfile
import unittest

CHECK_PROOF = pathlib.Path(__file__).with_name("check_proof")
START = 1_764_489_600_000_000  # 2025-11-30T08:00:00Z in microseconds
MS = 1000


def rfc3339(at_us):
    seconds, fraction = divmod(at_us, 1_000_000)
    whole = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{fraction:06}Z"


class Run:
    """Two connections: `a` loses its worker by a kill, `b` by a drain. 1 message each 10 ms, numbers from 1 to 100."""

    def __init__(self):
        self.files = {"s-1.000001.ndjson": [], "s-2.000001.ndjson": []}
        self.oracle = {"format": 1, "ids": {}}
        self.events = [
            {"at_us": START + 500 * MS, "kind": "kill", "worker": "w1", "session": "s-1", "connections": ["a"]},
            {"at_us": START + 500 * MS, "kind": "drain", "worker": "w1", "session": "s-1", "connections": ["b"]},
            {"at_us": START + 990 * MS, "kind": "stop", "heads": {name: {"stream": 1, "seq": 99} for name in "ab"}}]
        self.store = {"sessions": [{"id": "s-2"}],
                      "connections": [{"id": name, "epoch": 2, "owner": "off#03"} for name in "ab"]}
        # `a` is cut at 50 and had 48 acked: 49 and 50 are redelivered after 300 ms; 50 is late besides.
        self.connection("a", cut=50, resumed=48, again_at=START + 800 * MS)
        self.connection("b", cut=60, resumed=60, again_at=START + 640 * MS + 250)
        self.proof = {
            "connections": 2, "delivered": 201, "lost": 0, "redelivered": 1, "late": 1, "overlaps": 0, "unknown": 0,
            "unrecovered": 0,
            "crash_recovery_ms": {"p50": 300, "p99": 300, "max": 300, "count": 1},
            "handover_gap_ms": {"p50": 40.25, "p99": 40.25, "max": 40.25, "count": 1}, "proof": "ok"}

    def connection(self, name, cut, resumed, again_at):
        first, second = self.files.values()
        self.state(first, name, 1, START, None)
        for seq in range(1, cut + 1):
            self.data(first, name, 1, seq + 1, seq, START + seq * 10 * MS)
        # The resume point is one record further for `a` than what its upstream is asked for.
        point = cut if name == "a" else cut + 1
        resume = {"epoch": 1, "ordinal": point, "stream": 1, "value": str(resumed)}
        self.state(second, name, 2, again_at - 5 * MS, resume)
        for seq in range(resumed + 1, 101):
            self.data(second, name, 2, seq - resumed + 1, seq, max(again_at, START + seq * 10 * MS))
        self.oracle["ids"][name] = {
            "live": 0, "live_max": 1, "streams": [{"stream": 1, "head": 100}],
            "sockets": [self.socket(START, START + cut * 10 * MS + 2, 1, cut),
                        self.socket(again_at - MS, START + 1010 * MS, resumed + 1, 100)]}

    @staticmethod
    def socket(opened, closed, first, last):
        return {"opened_at_us": opened, "closed_at_us": closed,
                "sent": [{"stream": 1, "first": first, "last": last, "count": last - first + 1}]}

    @staticmethod
    def state(lines, name, epoch, at_us, resume):
        lines.append({"connection": name, "epoch": epoch, "ordinal": 1, "stream": 1, "received_at": rfc3339(at_us),
                      "kind": "state", "reason": "claimed", "resume": resume})

    @staticmethod
    def data(lines, name, epoch, ordinal, seq, at_us):
        lines.append({"connection": name, "epoch": epoch, "ordinal": ordinal, "stream": 1, "seq": seq,
                      "received_at": rfc3339(at_us), "kind": "data", "data": json.dumps({"seq": seq})})


class CheckProof(unittest.TestCase):
    def setUp(self):
        self.run_ = Run()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self):
        (self.folder / "messages").mkdir(exist_ok=True)
        for name, lines in self.run_.files.items():
            text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
            (self.folder / "messages" / name).write_text(text)
        for name in ("oracle", "events", "store", "proof"):
            (self.folder / f"{name}.json").write_text(json.dumps(getattr(self.run_, name)))

    def check(self):
        done = subprocess.run([CHECK_PROOF, self.folder], capture_output=True, text=True, timeout=60, check=False)
        self.assertNotIn("Traceback", done.stderr)
        return done.returncode, done.stdout + done.stderr

    def assert_red(self, *parts):
        self.write()
        code, output = self.check()
        self.assertEqual(code, 3, output)
        for part in parts:
            self.assertIn(part, output)

    def test_agrees_with_a_true_claim(self):
        self.write()
        code, output = self.check()
        self.assertEqual(code, 0, output)
        self.assertNotIn("DIFFERS", output)

    def test_each_deleted_data_line_is_found(self):
        for name, lines in self.run_.files.items():
            for place in range(1, len(lines), 17):
                with self.subTest(file=name, line=place):
                    self.run_ = Run()
                    if self.run_.files[name].pop(place)["kind"] == "data":
                        self.assert_red("DIFFERS")

    def test_a_deleted_opening_record_is_found(self):
        self.run_.files["s-2.000001.ndjson"].pop(0)
        self.assert_red("late", "DIFFERS")

    def test_a_repeated_line_is_found(self):
        lines = self.run_.files["s-2.000001.ndjson"]
        lines.append(copy.deepcopy(lines[7]))
        self.assert_red("redelivered was claimed to be 1 and is 2")

    def test_a_stretched_live_interval_is_found(self):
        sockets = self.run_.oracle["ids"]["b"]["sockets"]
        sockets[0]["closed_at_us"] = sockets[1]["opened_at_us"] + 1
        self.assert_red("overlaps is 1")

    def test_an_interval_that_never_ended_is_found(self):
        self.run_.oracle["ids"]["a"]["sockets"][0]["closed_at_us"] = None
        self.assert_red("overlaps is 1")

    def test_intervals_that_touch_are_no_overlap(self):
        sockets = self.run_.oracle["ids"]["b"]["sockets"]
        sockets[0]["closed_at_us"] = sockets[1]["opened_at_us"]
        self.write()
        self.assertEqual(self.check()[0], 0)

    def test_a_missing_tail_is_lost(self):
        self.run_.events[-1]["heads"]["a"]["seq"] = 103
        self.run_.oracle["ids"]["a"]["streams"][0]["head"] = 103
        self.assert_red("lost is 3")

    def test_each_claimed_figure_is_compared(self):
        for name, value in Run().proof.items():
            with self.subTest(figure=name):
                self.run_ = Run()
                if isinstance(value, dict):
                    self.run_.proof[name]["max"] += 0.001
                elif isinstance(value, int):
                    self.run_.proof[name] += 1
                else:
                    self.run_.proof[name] = ["1 message was lost"]
                self.assert_red(name if name != "proof" else "does not claim")
                del self.run_.proof[name]
                self.assert_red()

    def test_a_moved_first_record_is_found(self):
        second = self.run_.files["s-2.000001.ndjson"]
        first = next(line for line in second if line["connection"] == "b" and line["kind"] == "data")
        first["received_at"] = rfc3339(START + 640 * MS + 249)
        self.assert_red("handover_gap_ms")

    def test_an_epoch_that_began_at_the_very_moment_of_the_harm_is_the_old_one(self):
        self.run_.events[1]["at_us"] = START + 635 * MS + 250
        self.assert_red("unrecovered is 1")

    def test_an_epoch_of_two_sessions_is_found(self):
        self.run_.files["s-3.000001.ndjson"] = [self.run_.files["s-2.000001.ndjson"].pop()]
        self.assert_red("overlaps is 1")

    def test_records_above_the_stores_epoch_are_found(self):
        self.run_.store["connections"][0]["epoch"] = 1
        self.assert_red("above 1 in store.json")

    def test_records_of_an_unknown_connection_are_found(self):
        self.run_.store["connections"].pop()
        self.assert_red("connection b has records and is not in store.json")

    def test_the_final_epochs_owner_is_compared(self):
        self.run_.store["sessions"].append({"id": "s-9"})
        self.run_.store["connections"][1]["owner"] = "s-9"
        self.assert_red("belongs to s-9")

    def test_a_torn_last_line_is_left_out(self):
        self.write()
        with (self.folder / "messages" / "s-1.000001.ndjson").open("a") as file:
            file.write('{"connection":"a","epo')
        self.assertEqual(self.check()[0], 0)

    def test_a_broken_line_is_unreadable_and_named(self):
        self.write()
        with (self.folder / "messages" / "s-1.000001.ndjson").open("a") as file:
            file.write('{"connection":"a","epo\n')
        code, output = self.check()
        self.assertEqual(code, 2)
        self.assertIn("s-1.000001.ndjson:113", output)

    def test_a_missing_file_is_unreadable_and_named(self):
        for name in ("oracle.json", "events.json", "store.json", "proof.json"):
            with self.subTest(file=name):
                self.write()
                (self.folder / name).unlink()
                code, output = self.check()
                self.assertEqual(code, 2)
                self.assertIn(name, output)

    def test_bad_usage_is_told(self):
        done = subprocess.run([CHECK_PROOF], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage", done.stderr)


if __name__ == "__main__":
    unittest.main()
