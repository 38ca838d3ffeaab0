# SPDX-License-Identifier: Apache-2.0
"""What is wrong is named, with its place and what to do, and nothing is started or changed."""
import json
import os
import re
import sqlite3
import unittest

import evidence
import fleet
from fleet import PATIENCE


class BadInput(fleet.FleetTest):
    def refused(self, *command, code=2, stdin=None):
        """The one problem that a command printed."""
        done = self.fleet.run(*command, stdin=stdin)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("longhold: "), done.stderr)
        return done.stderr

    def settings(self, text):
        file = self.fleet.folder / "longhold.toml"
        file.write_text(text)
        return str(file)

    def store(self):
        return ("--store", self.fleet.settings["store.url"])

    def serve_fails(self, code, **settings):
        """The log of a worker that ends by itself."""
        worker = self.fleet.worker("w1", ready=False, **settings)
        self.assertEqual(worker.wait_exit(PATIENCE), code, worker.log())
        return worker.log()

    def test_an_unknown_key_is_answered_with_the_nearest_one(self):
        file = self.settings('[store]\nurl = "sqlite:x.db"\n\n[lease]\nduratoin = "6s"\n')
        for command in (("serve", "--config", file), ("config", "check", "--config", file)):
            problem = self.refused(*command)
            self.assertIn(f"{file}:5", problem)
            self.assertIn("duratoin", problem)
            self.assertIn("lease.duration", problem)
        self.assertIn("lease.duration", self.refused("serve", "--set", "lease.duratoin=6s"))
        self.assertFalse((self.fleet.folder / "x.db").exists(), "nothing was opened")

    def test_toml_that_does_not_parse_is_named_by_line(self):
        file = self.settings('[store]\nurl = "sqlite:x.db\n')
        self.assertIn(f"{file}:2", self.refused("serve", "--config", file))

    def test_a_file_that_is_not_there_and_a_value_out_of_range(self):
        self.assertIn("missing.toml", self.refused("serve", "--config", "missing.toml"))
        too_rare = self.refused("serve", "--set", "lease.duration=2s", "--set", "lease.heartbeat_every=3s")
        self.assertIn("lease.heartbeat_every", too_rare)
        self.assertIn("lease.duration", self.refused("serve", "--set", "lease.duration=6 parsecs"))

    def test_a_rate_that_is_no_number(self):
        for rate in ("nan", "-nan", "inf", "fast"):
            self.assertIn(f'"{rate}" is no value for --rate', self.refused("quickstart", "--rate", rate))
            self.assertIn(f'"{rate}" is no number', self.refused("mock-upstream", "--rate", rate))

    def test_a_workers_name_that_no_terminal_can_show(self):
        for name in (b"w\xff", b"w\x1b[2J", "w\u009b2J".encode()):
            problem = self.refused("serve", "--set", b"worker.id=" + name)
            self.assertIn("worker.id: it must be valid UTF-8", problem)

    def test_a_sink_directory_that_cannot_be_written(self):
        file = self.fleet.folder / "in-the-way"
        file.write_text("")
        log = self.serve_fails(2, sinks__main__url=f"ndjson:{file}/")
        self.assertIn(str(file), log)
        if os.geteuid() != 0:
            closed = self.fleet.folder / "closed"
            closed.mkdir(mode=0o500)
            self.assertIn(str(closed), self.serve_fails(2, sinks__main__url=f"ndjson:{closed}/"))

    def test_a_store_that_needs_a_newer_version_is_not_touched(self):
        self.fleet.do("connection", "put", "a", "--url", "ws://127.0.0.1:9/")
        with sqlite3.connect(self.fleet.store) as database:
            database.execute("UPDATE longhold_schema SET min_compatible_version = 99")
        database.close()
        before = self.rows()
        log = self.serve_fails(2)
        self.assertIn(str(self.fleet.store), log)
        self.assertIn("99", log)
        self.assertIn("99", self.refused("connection", "list", *self.store(), code=1))
        self.assertEqual(self.rows(), before)

    def rows(self):
        with sqlite3.connect(self.fleet.store) as database:
            rows = [database.execute(f"SELECT * FROM {table}").fetchall() for table in ("connection", "session")]
        database.close()
        return rows

    def test_a_store_file_that_is_something_else(self):
        self.fleet.store.write_text("this is no database, but long enough to have a header " * 10)
        log = self.serve_fails(2)
        self.assertIn(str(self.fleet.store), log)
        self.assertEqual(re.findall(" stopped (.*)", log), ["exit_code=2"], "told once, and what the process exits with")

    def test_an_id_that_an_import_has_twice_names_both_lines(self):
        line = json.dumps({"id": "twice", "spec": {"url": "ws://127.0.0.1:9/"}})
        problem = self.refused("connection", "import", "-", *self.store(), stdin=f"{line}\n{line}\n")
        self.assertIn('"twice"', problem)
        self.assertRegex(problem, r"\b1\b.*\b2\b|:2.*\b1\b")
        self.assertFalse(self.fleet.store.exists(), "nothing was imported")

    def test_create_does_not_replace(self):
        self.fleet.do("connection", "put", "mine", "--url", "ws://127.0.0.1:9/first")
        again = ("connection", "put", "mine", "--create", "--url", "ws://127.0.0.1:9/second")
        problem = self.refused(*again, *self.store(), code=1)
        self.assertIn('"mine" exists already', problem)
        self.assertEqual(self.fleet.connections()["mine"]["spec"]["url"], "ws://127.0.0.1:9/first")

    def test_a_malformed_url_is_named(self):
        for url in ("http://127.0.0.1/", "ws://", "ws://host:99999/", "ws://ho st/", "feed.example/ws"):
            problem = self.refused("connection", "put", "a", "--url", url, *self.store())
            self.assertIn(url, problem)
        self.assertIn("cursur", self.refused("connection", "put", "a", "--url", "ws://h/{cursur}", *self.store()))
        self.assertFalse(self.fleet.store.exists())

    def test_a_port_in_use_and_unknown_schemes(self):
        mock = self.mock()
        self.assertIn(f"127.0.0.1:{mock.port}", self.serve_fails(2, admin__listen=f"127.0.0.1:{mock.port}"))
        self.assertIn("nosuch", self.serve_fails(2, store__url="nosuch:thing"))
        self.assertIn("nosuch", self.serve_fails(2, sinks__main__url="nosuch:thing"))

    def test_a_spec_that_a_newer_release_wrote_stops_no_other_connection(self):
        mock = self.mock()
        self.fleet.put_feeds(mock, ["good", "bad"])
        with sqlite3.connect(self.fleet.store) as database:
            database.execute("UPDATE connection SET spec = ? WHERE id = 'bad'", ['{"url":"ws://h/","novel":1}'])
        database.close()
        worker = self.fleet.worker("w1")
        mock.wait_live(["good"])
        line = worker.wait_log("connection cannot be dialled connection=bad.*")[0]
        self.assertIn("novel", line)
        evidence.wait_delivered(self.fleet, mock, ["good"])


if __name__ == "__main__":
    fleet.main()
