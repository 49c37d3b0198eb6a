"""Names of parameters that reflection tells stay when the agent rewrites loaded classes, in each Java runtime (JAVAS)."""
import subprocess
import tempfile
import unittest
import zipfile
from pathlib import Path

import corners
from corners import AGENT, CLASSES, read_report


class NamesOfParameters(unittest.TestCase):
    """Those that reflection tells stay, though JVMs before 21 forget them when a class is rewritten."""

    def check(self, java, backend, *agents, least=1):
        with tempfile.TemporaryDirectory() as folder:
            other, report = Path(folder) / "early.jar", Path(folder) / "report.jsonl"
            with zipfile.ZipFile(other, "w") as jar:
                jar.writestr("META-INF/MANIFEST.MF", "Premain-Class: early.Early\n")
            ran = subprocess.run(
                [java, *(f"-javaagent:{other}={name}" for name in agents), f"-javaagent:{AGENT}=report={report},"
                 f"backend={backend},arms-per-second=1000000,aiming-share=0.5,remote=corners.Named#fetch",
                 "-cp", CLASSES, "corners.Named", "1000"], check=True, capture_output=True, text=True, timeout=60)
            head, (context,) = read_report(report)
            self.assertEqual((context["responses"], head["classes_not_rewritten"]), (1000, 0))
            self.assertGreaterEqual(context["classes"][0]["decided"] if context["classes"] else 0, least)
            self.assertEqual(ran.stdout,
                             "[final int number, java.lang.String text] [int added] [int itemNumber]\n", ran.stderr)

    def test_mask_of_classes_that_are_loaded_before(self):
        for java in corners.javas():
            with self.subTest(java=java):
                self.check(java, "mask", "corners.Named,corners.Named$Item", least=0)

    @unittest.skipUnless(corners.has_registers(), "debug registers cannot be had here")
    def test_watchpoints(self):
        for java in corners.javas():
            with self.subTest(java=java):
                self.check(java, "watchpoints")


if __name__ == "__main__":
    unittest.main(verbosity=0)
