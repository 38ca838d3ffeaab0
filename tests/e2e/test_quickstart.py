# SPDX-License-Identifier: Apache-2.0
"""quickstart proves what it says and does not grade itself: check_proof recomputes all figures; red is possible."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
CHECK_PROOF = HERE / "check_proof"
SHORT = os.environ.get("LONGHOLD_E2E_SHORT") == "1"


def longhold():
    named = os.environ.get("LONGHOLD_BIN")
    return named or str(pathlib.Path(os.environ["LONGHOLD_BINARY_DIR"]) / "bin" / "longhold")


def check(directory):
    return subprocess.run([str(CHECK_PROOF), str(directory)], capture_output=True, text=True, timeout=120)


class Quickstart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="longhold-quickstart-test-")
        cls.kept = pathlib.Path(cls.folder) / "kept"
        options = ["--connections", "12", "--duration", "9s"] if SHORT else []
        cls.run_result = subprocess.run([longhold(), "quickstart", "--keep", str(cls.kept), "-o", "json", *options],
                                        capture_output=True, text=True, timeout=300)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def copy(self):
        target = pathlib.Path(self.folder) / self.id().rsplit(".", 1)[-1]
        shutil.copytree(self.kept, target)
        return target

    def test_it_ends_with_its_proof_and_exit_0(self):
        self.assertEqual(self.run_result.returncode, 0, self.run_result.stderr + self.run_result.stdout)
        proof = json.loads(self.run_result.stdout)
        self.assertEqual(proof["proof"], "ok")
        self.assertEqual(proof["connections"], 12 if SHORT else 60)
        self.assertGreater(proof["delivered"], 1000)
        self.assertEqual(proof["lost"], 0)
        self.assertEqual(proof["overlaps"], 0)
        self.assertGreater(proof["crash_recovery_ms"]["count"], 0)
        self.assertGreater(proof["handover_gap_ms"]["count"], 0)
        if not SHORT:  # sanitizers make these bounds meaningless
            self.assertLessEqual(proof["crash_recovery_ms"]["max"], 7500)
            self.assertLessEqual(proof["handover_gap_ms"]["p99"], 1000)

    def test_another_program_in_another_language_agrees(self):
        result = check(self.kept)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_a_deleted_line_turns_the_proof_red(self):
        kept = self.copy()
        path, lines, index = self.some_data_line(kept)
        path.write_text("".join(lines[:index] + lines[index + 1:]))
        self.assertEqual(check(kept).returncode, 3)

    def test_a_repeated_line_turns_the_proof_red(self):
        kept = self.copy()
        path, lines, index = self.some_data_line(kept)
        path.write_text("".join(lines[:index] + [lines[index]] + lines[index:]))
        self.assertEqual(check(kept).returncode, 3)

    def test_a_stretched_live_interval_turns_the_proof_red(self):
        kept = self.copy()
        oracle = json.loads((kept / "oracle.json").read_text())
        for each in self.ids(oracle):
            if len(each["sockets"]) > 1:
                each["sockets"][0]["closed_at_us"] = each["sockets"][1]["opened_at_us"] + 1000
                break
        else:
            self.fail("no connection had two sockets")
        (kept / "oracle.json").write_text(json.dumps(oracle))
        self.assertEqual(check(kept).returncode, 3)

    def test_nothing_is_left_running(self):
        found = subprocess.run(["pgrep", "-f", str(self.kept)], capture_output=True, text=True)
        self.assertEqual(found.stdout, "")

    @staticmethod
    def ids(oracle):
        ids = oracle["ids"]
        return list(ids.values()) if isinstance(ids, dict) else ids

    @staticmethod
    def some_data_line(kept):
        """A data line in the middle of the largest file that accepted records are in."""
        path = max((kept / "messages").glob("*.ndjson"), key=lambda each: each.stat().st_size)
        lines = path.read_text().splitlines(keepends=True)
        index = next(i for i in range(len(lines) // 2, len(lines)) if '"kind":"data"' in lines[i])
        return path, lines, index


class InterruptedQuickstart(unittest.TestCase):
    """A signal ends the run with 1, and nothing of it stays."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="longhold-quickstart-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()

    def interrupt(self, number, *options):
        errors = self.folder / "errors"
        with open(errors, "wb") as output:
            run = subprocess.Popen([longhold(), "quickstart", "--connections", "6", *options],
                                   stdout=subprocess.DEVNULL, stderr=output, start_new_session=True,
                                   env=os.environ | {"TMPDIR": str(self.temporary)})
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        end = time.monotonic() + 60
        while "delivering" not in errors.read_text():
            self.assertIsNone(run.poll(), errors.read_text())
            self.assertLess(time.monotonic(), end, errors.read_text())
            time.sleep(0.05)
        self.assertEqual(len(list(self.temporary.iterdir())), 1)
        run.send_signal(number)
        self.assertEqual(run.wait(30), 1)
        self.assertIn("interrupted", errors.read_text())
        self.assertEqual(list(self.temporary.iterdir()), [])
        found = subprocess.run(["pgrep", "-f", str(self.folder)], capture_output=True, text=True)
        self.assertEqual(found.stdout, "", "no worker is left running")

    def test_sigint_leaves_nothing(self):
        self.interrupt(signal.SIGINT)

    def test_sigterm_leaves_no_namespace_in_a_store_that_stays(self):
        url = f"sqlite:{self.folder}/own.db"
        self.interrupt(signal.SIGTERM, "--store", url)
        with contextlib.closing(sqlite3.connect(self.folder / "own.db")) as store:
            tables = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            self.assertTrue(tables)
            for table in tables:
                for row in store.execute(f'SELECT * FROM "{table}"'):
                    self.assertFalse([cell for cell in row if "quickstart-" in str(cell)], f"in {table}: {row}")


if __name__ == "__main__":
    unittest.main()
