#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The built program as a shell runs it: streams that close or fill up, completion scripts, exit codes."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

from fleet import PATIENCE, wait_for

LONGHOLD = os.environ.get("LONGHOLD_BIN", str(pathlib.Path(__file__).parents[2] / "build/dev/bin/longhold"))


def run(*words, **options):
    return subprocess.run([LONGHOLD, *words], capture_output="stdout" not in options, text=True, timeout=60, **options)


class CommandLine(unittest.TestCase):
    def test_version_lists_what_is_built_in(self):
        ran = run("--version")
        self.assertEqual(ran.returncode, 0)
        self.assertRegex(ran.stdout, r"^longhold \d+\.\d+\.\d+\n")
        self.assertIn("stores: memory, sqlite\n", ran.stdout)
        self.assertIn("sinks: ndjson\n", ran.stdout)

    def test_a_reader_that_leaves_early_is_no_error(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        ran = run("config", "explain", stdout=write_end, stderr=subprocess.PIPE)
        os.close(write_end)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            ran = run("config", "explain", stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("longhold: the output cannot be written: No space left on device (standard output): ", ran.stderr)

    def test_standard_streams_that_are_closed(self):
        closed = subprocess.run(["sh", "-c", 'exec "$0" config explain >&-', LONGHOLD], stderr=subprocess.PIPE, text=True,
                                timeout=60, check=False)
        self.assertEqual(closed.returncode, 1)
        self.assertIn("longhold: the output cannot be written: Bad file descriptor (standard output): ", closed.stderr)

    def test_no_file_or_socket_takes_the_place_of_a_closed_standard_stream(self):
        with tempfile.TemporaryDirectory() as folder:
            settings = ("--set", f"store.url=sqlite:{folder}/store.db", "--set", f"sinks.main.url=ndjson:{folder}/messages/",
                        "--set", "admin.listen=127.0.0.1:0")
            server = subprocess.Popen(["sh", "-c", 'exec "$0" serve "$@" <&- >&- 2>&-', LONGHOLD, *settings])

            def opened():
                found = {}
                with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                    for number in pathlib.Path(f"/proc/{server.pid}/fd").iterdir():
                        found[number.name] = os.readlink(number)
                return found

            try:
                wait_for(lambda: f"its store and listener are open: {opened()}", PATIENCE,
                         lambda: f"{folder}/store.db" in opened().values() and "socket:" in str(opened()))
                self.assertEqual([opened()[number] for number in "012"], ["/dev/null"] * 3)
                server.send_signal(signal.SIGTERM)
                self.assertEqual(server.wait(PATIENCE), 0)
            finally:
                server.kill()
                server.wait()

    def test_usage_and_configuration_errors_exit_with_2(self):
        self.assertEqual(run("conection").returncode, 2)
        environment = {**os.environ, "LONGHOLD_LEASE__DURATION": "soon"}
        ran = run("config", "check", env=environment)
        self.assertEqual(ran.returncode, 2)
        self.assertIn('longhold: lease.duration: "soon" is no duration', ran.stderr)
        self.assertIn("(environment LONGHOLD_LEASE__DURATION)", ran.stderr)

    def test_a_connection_lives_in_the_store_between_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            store = ("--store", f"sqlite:{folder}/store.db")
            self.assertEqual(run("connection", "put", "a", "--url", "wss://feed.example/a", *store).returncode, 0)
            self.assertIn('"id":"a"', run("connection", "list", "-o", "ndjson", *store).stdout)
            gone = run("connection", "get", "b", *store)
            self.assertEqual(gone.returncode, 1)
            self.assertIn('longhold: there is no connection "b" (store): ', gone.stderr)

    def test_completion_scripts_are_sound(self):
        for shell in ("bash", "zsh", "fish"):
            if shutil.which(shell) is None:
                continue
            script = run("completion", shell).stdout
            with self.subTest(shell):
                checked = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True, timeout=60,
                                         check=False)
                self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def completed(self, *words):
        """What bash offers for the last of `words`."""
        quoted = " ".join(f"'{word}'" for word in words)
        script = run("completion", "bash").stdout + (
            f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _longhold; printf '%s\\n' \"${{COMPREPLY[@]}}\"\n")
        answer = subprocess.run(["bash"], input=script, text=True, capture_output=True, timeout=60, check=True)
        return answer.stdout.split()

    @unittest.skipIf(shutil.which("bash") is None, "there is no bash")
    def test_bash_completes_commands_options_and_values(self):
        self.assertIn("connection", self.completed("longhold", "con"))
        self.assertEqual(self.completed("longhold", "connection", "imp"), ["import"])
        self.assertEqual(self.completed("longhold", "connection", "list", "--sel"), ["--selector"])
        self.assertEqual(self.completed("longhold", "connection", "list", "-o", "nd"), ["ndjson"])
        self.assertEqual(self.completed("longhold", "completion", "f"), ["fish"])


if __name__ == "__main__":
    unittest.main()
