# SPDX-License-Identifier: Apache-2.0
"""A spec that is edited while nobody owns the connection: the cursor stays good unless another sequence is counted."""
import evidence
import fleet
from fleet import PATIENCE, wait_for

PLAIN = ["--set", "sequence.field=/seq", "--set", "sequence.first=1", "--set", "resume.query=cursor"]


class SpecEdit(fleet.FleetTest):
    def deliver_then_stop(self, mock, url):
        """One connection that has delivered a while and is stopped."""
        self.fleet.worker("w1")
        self.fleet.do("connection", "put", "feed", "--url", url, *PLAIN)
        wait_for("20 records", PATIENCE, lambda: len(self.data()) >= 20)
        self.fleet.do("connection", "stop", "feed")
        wait_for("it is released", PATIENCE, lambda: not self.owned())

    def owned(self):
        row = next(each for each in self.fleet.dump()["connections"] if each["id"] == "feed")
        return "#" not in row["owner"]

    def data(self):
        return [record for record in evidence.records(self.fleet, "feed") if record["kind"] == "data"]

    def test_a_new_header_loses_nothing_and_goes_on_in_the_stream(self):
        mock = self.mock()
        self.deliver_then_stop(mock, mock.url("feed"))
        before = len(self.data())
        self.fleet.do("connection", "put", "feed", "--url", mock.url("feed"), *PLAIN, "--set", "headers.X-Token=new")
        wait_for("20 more records", PATIENCE, lambda: len(self.data()) >= before + 20)
        records = evidence.records(self.fleet, "feed")
        self.assertEqual([record for record in records if record["kind"] == "gap"], [])
        self.assertEqual({record["stream"] for record in records}, {1})
        numbers = [record["seq"] for record in self.data()]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))

    def test_another_url_begins_a_new_stream_and_says_what_may_be_missing(self):
        mock = self.mock()
        self.deliver_then_stop(mock, mock.url("feed"))
        self.fleet.do("connection", "put", "feed", "--url", mock.url("other"), *PLAIN)
        wait_for("records of the other feed", PATIENCE, lambda: any(record["stream"] == 2 for record in self.data()))
        reasons = {record["reason"] for record in evidence.records(self.fleet, "feed") if record["kind"] == "gap"}
        self.assertEqual(reasons, {"spec_change"})


if __name__ == "__main__":
    fleet.main()
