"""Which responses are looked into: each as likely as the others, whenever it comes, and whatever came before."""
import subprocess
import tempfile
import unittest
from pathlib import Path

from corners import AGENT, CLASSES, read_report


class Chosen(unittest.TestCase):
    def look(self, program, *arguments, options=""):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.jsonl"
            subprocess.run(["java", f"-javaagent:{AGENT}=report={report},remote=paths.{program}#fetch{options}", "-cp", CLASSES,
                            f"paths.{program}", *arguments], check=True, stdout=subprocess.DEVNULL, timeout=60)
            return read_report(report)[1]

    def test_calls_that_follow_each_other(self):
        """Of ten in a row the value of the last one is read; there are a hundred calls a second, more than are looked into."""
        (context,) = self.look("Loops", "8")
        (row,) = context["classes"]
        self.assertLess(context["looked_into"], 10 * 20 + 1)
        self.assertGreater(row["decided"], 80)
        (value,) = (field for field in row["fields"] if field["name"] == "value")
        self.assertTrue(0.02 < value["used"] / row["decided"] < 0.25, row)

    def test_answers_without_objects(self):
        """None of them keeps later ones from being seen; most of those that only hold what is not the application's are
        passed over."""
        for without, least, most in (("nothing", 7000, 7000), ("others", 100 + 1000, 100 + 200 + 2000),
                                     ("count", 100 + 1000, 100 + 200 + 2000)):
            (context,) = self.look("Polls", without, "5000", options=",arms-per-second=1000000")
            self.assertTrue(least <= context["looked_into"] <= most, (without, context))
            (row,) = context["classes"]
            self.assertGreaterEqual(row["watched"], 385)

    def test_answers_without_objects_cost_others_nothing(self):
        """Fifteen of them for each other one, and fewer than have their call path looked for."""
        contexts = self.look("Polls", "both", "6")
        (others,) = (context for context in contexts if context["classes"])
        self.assertEqual((len(contexts), others["responses"]), (2, 60))
        self.assertGreater(others["looked_into"], 30)

    def test_each_is_as_likely_as_the_others_of_its_second(self):
        """None of those that come late is left out because the others had all there was; nor are a few expected for ever once
        they came."""
        ran = subprocess.run(["java", "-cp", f"{AGENT}:{CLASSES}", "slowpath.transfers.Caps"], check=True, capture_output=True,
                             text=True, timeout=60)
        *halves, after_more = ran.stdout.splitlines()
        self.assertEqual(after_more, "1000")
        for line in halves:
            early, late = map(int, line.split())
            self.assertTrue(0.8 < early / late < 1.25, ran.stdout)


if __name__ == "__main__":
    unittest.main()
