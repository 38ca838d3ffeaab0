# SPDX-License-Identifier: Apache-2.0
"""The admin listener says how the process is, and a reload takes all or nothing."""
import json
import re
import signal

import evidence
import fleet
from fleet import PATIENCE, wait_for

SAMPLE = re.compile(r'^[a-z_]+(\{[a-z_]+="[^"\n]*"(,[a-z_]+="[^"\n]*")*\})? [0-9.e+-]+(Inf|NaN)?$')


class Admin(fleet.FleetTest):
    def test_probes_follow_the_life_of_the_process(self):
        mock = self.mock()
        worker = self.fleet.worker("w1", drain__balancer_wait="60s")
        self.assertEqual([worker.ask(path)[0] for path in ("/livez", "/readyz", "/startupz")], [200, 200, 200])
        self.assertEqual(worker.ask("/nothing")[0], 404)
        self.assertEqual(fleet.request(worker.port, "POST", "/livez")[0], 405)
        self.fleet.put_feeds(mock, ["a"])
        mock.wait_live(["a"])
        worker.signal(signal.SIGTERM)
        wait_for("readyz is 503", PATIENCE, lambda: worker.ask("/readyz")[0] == 503)
        self.assertEqual(json.loads(worker.ask("/readyz")[1])["ok"], False)
        self.assertEqual(worker.ask("/livez")[0], 200, "a process that drains is not restarted")
        self.assertEqual(worker.health()["state"], "draining")
        worker.signal(signal.SIGTERM)
        self.assertEqual(worker.wait_exit(PATIENCE), 0)

    def test_health_says_what_people_ask(self):
        mock, names = self.mock(), fleet.names(6)
        worker = self.fleet.worker("w1")
        self.fleet.put_feeds(mock, names)
        mock.wait_live(names)
        health = worker.health()
        expected = {"state": "ready", "roles": ["worker"], "worker": "w1", "live": True, "ready": True,
                    "connections": len(names), "degraded": {}}
        self.assertEqual({key: health[key] for key in expected}, expected)
        self.assertRegex(health["version"], r"^\d+\.\d+\.\d+")
        self.assertEqual(set(health["pending"]), {"records", "bytes", "oldest_seconds"})
        wait_for("the checks of store and sink have run", PATIENCE, lambda: all(
            each["up"] for each in worker.health()["dependencies"].values()))
        hard = {name: each["hard"] for name, each in worker.health()["dependencies"].items()}
        self.assertEqual(hard, {"store": True, "sink": False})
        self.assertEqual(health["session"], self.fleet.connections()[names[0]]["owner"])

    def test_metrics_parse_and_name_no_connection(self):
        mock = self.mock()
        worker = self.fleet.worker("w1")
        self.fleet.put_feeds(mock, ["very-own-name"])
        mock.wait_live(["very-own-name"])
        evidence.wait_delivered(self.fleet, mock, ["very-own-name"])
        text = worker.ask("/metrics")[1]
        typed = set(re.findall(r"^# TYPE (\S+) (?:counter|gauge|histogram)$", text, re.MULTILINE))
        for line in text.splitlines():
            if not line.startswith("#"):
                self.assertRegex(line, SAMPLE)
                name = re.sub(r"(_bucket|_sum|_count)$", "", re.match(r"\w+", line)[0])
                self.assertTrue(name in typed or re.match(r"\w+", line)[0] in typed, f"{line} has no TYPE")
        self.assertNotIn("very-own-name", text)
        self.assertEqual(worker.metric("longhold_held"), 1)
        self.assertEqual(worker.metric("longhold_connections", '{phase="open"}'), 1)
        wait_for("records are acknowledged", PATIENCE,
                 lambda: worker.metric("longhold_records_total", '{kind="data"}') > 0)
        self.assertEqual(worker.metric("longhold_sink_stuck"), 0)

    def test_a_reload_takes_all_or_nothing(self):
        mock = self.mock()
        settings = self.fleet.folder / "longhold.toml"
        settings.write_text('[log]\nlevel = "info"\n')
        self.fleet.environment["LONGHOLD_CONFIG"] = str(settings)
        worker = self.fleet.worker("w1")
        del self.fleet.environment["LONGHOLD_CONFIG"]
        self.fleet.put_feeds(mock, ["a"])
        mock.wait_live(["a"])

        settings.write_text('[log]\nlevel = "debug"\n\n[lease]\nduratoin = "3s"\n')
        worker.signal(signal.SIGHUP)
        line = worker.wait_log("reload refused, nothing was changed.*")[0]
        self.assertIn("reason=", line)
        self.assertIn(f"{settings}:5", worker.log())
        self.assertIn("lease.duration", worker.log())
        self.assertNotIn("reloaded", worker.log())
        self.fleet.put_feeds(mock, ["b"])
        mock.wait_live(["b"])
        self.assertNotIn(" debug ", worker.log(), "the level stayed as it was")

        settings.write_text('[log]\nlevel = "debug"\n\n[worker]\nzone = "b"\n')
        worker.signal(signal.SIGHUP)
        worker.wait_log("reloaded parts=1")
        self.assertIn("changed setting needs a restart key=worker.zone", worker.log())
        self.fleet.put_feeds(mock, ["c"])
        worker.wait_log(" debug .*connection=c")
        self.assertEqual(len(mock.feed("a")["sockets"]), 1, "a reload touches no connection")

    def test_a_reload_changes_the_budgets_of_the_stop(self):
        settings = self.fleet.folder / "longhold.toml"
        settings.write_text('[drain]\nbalancer_wait = "0s"\n')
        self.fleet.environment["LONGHOLD_CONFIG"] = str(settings)
        worker = self.fleet.worker("w1")
        settings.write_text('[drain]\nbalancer_wait = "90s"\n')
        worker.signal(signal.SIGHUP)
        worker.wait_log("reloaded parts=1")
        worker.signal(signal.SIGTERM)
        worker.wait_log("step=balancer_wait within=(89|1m29)")
        worker.signal(signal.SIGTERM)
        self.assertEqual(worker.wait_exit(PATIENCE), 0, worker.log())

    def test_a_grace_without_room_for_the_announcement_ends_the_start(self):
        worker = self.fleet.worker("w1", ready=False, drain__requests="0s", drain__handover="5s", drain__grace="17s")
        self.assertEqual(worker.wait_exit(PATIENCE), 2, worker.log())
        self.assertIn("drain.grace is 17s, less than the 17s700ms that a stop may take", worker.log())


if __name__ == "__main__":
    fleet.main()
