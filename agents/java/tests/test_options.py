"""What the agent is told, and what it cannot do: wrong options and changes of the file with them; where the native library,
debug registers, memory or room for the report are missing, the program does its work, and one line says so."""
import itertools
import os
import platform
import subprocess
import tempfile
import unittest
from pathlib import Path

import corners
from corners import AGENT, CLASSES, read_report, until


class WhatCannotBe(unittest.TestCase):
    """The program does its work, and one line says what is missing."""

    def run_with(self, options, *jvm, first=None, lines=1):
        ran = subprocess.run(["java", *jvm, f"-javaagent:{AGENT}={options}", "-cp", CLASSES, "corners.Corners", "3"],
                             check=True, capture_output=True, text=True, timeout=60, preexec_fn=first)
        self.assertIn("objects 3\n", ran.stdout)
        said = [line for line in ran.stderr.splitlines() if line.startswith("slowpath:")]
        self.assertEqual(len(said), lines, ran.stderr)
        return said[-1]

    def test_wrong_options(self):
        self.assertIn("there is no option 'rates' (hint: report, report-every, rate, arms-per-second, paths-per-second, "
                      "samples, packages, exclude, remote, backend, aiming-share, config)", self.run_with("rates=1"))
        for method in ("a.B#", "#c", "a.B", "a.B#c#d"):
            self.assertIn(f"'remote' has {method} (hint: package.Class#method)", self.run_with(f"remote={method}"))
        self.assertIn("'rate' is 2 (hint: a number from 0 to 1)", self.run_with("rate=2"))
        self.assertIn("'samples' is 10000000 (hint: a number from 1 to 1000000)", self.run_with("samples=10000000"))
        self.assertIn("'aiming-share' is 2 (hint: a number from 0.001 to 1)", self.run_with("aiming-share=2"))
        self.assertIn("'samples' is 3.9 (hint: a whole number from 1 to 1000000)", self.run_with("samples=3.9"))
        self.assertIn("'rate' is given twice (hint: one of them)", self.run_with("rate=1,rate=0.5"))
        self.assertIn("'backend' is hardware (hint: auto or mask or watchpoints)", self.run_with("backend=hardware"))
        self.assertIn("'call-paths' is c (hint: native or java)", self.run_with("call-paths=c"))
        self.assertIn("'counting' is no (hint: on or off)", self.run_with("counting=no"))
        self.assertIn("cannot read /nowhere", self.run_with("config=/nowhere"))

    def test_remote_methods_that_do_not_exist(self):
        with tempfile.TemporaryDirectory() as folder:
            said = self.run_with(f"report={folder}/report.jsonl,remote=corners.Corners#fetch,remote=no.Such#fetch,"
                                 "corners.Corners#fetsh,corners.Corners#main")
            self.assertIn("'remote' has corners.Corners#fetsh, corners.Corners#main, no.Such#fetch, and no class", said)
            ran = subprocess.run(["java", f"-javaagent:{AGENT}=report={folder}/report.jsonl,remote=corners.ReadLater$Remote#fetch,"
                                  "remote=corners.ReadLater$Source#fetch", "-cp", CLASSES, "corners.ReadLater", "1"],
                                 check=True, capture_output=True, text=True, timeout=60)
            self.assertNotIn("'remote' has", ran.stderr)

    def test_an_annotation_that_does_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run(["java", f"-javaagent:{AGENT}=report={folder}/report.jsonl", "-cp", CLASSES,
                                  "corners.Overloads", "1"], check=True, capture_output=True, text=True, timeout=60)
            self.assertEqual([line for line in ran.stderr.splitlines() if line.startswith("slowpath:")],
                             ["slowpath: @RemoteObject on corners.Overloads$Source#fetch does nothing, as it has no code "
                              "(hint: on the methods that implement it)"])

    def test_no_native_library(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.jsonl"
            said = self.run_with(f"report={report},remote=corners.Corners#fetch", "-Djava.io.tmpdir=/nowhere")
            self.assertIn("counting responses costs more, and transfers will not be seen in recordings", said)
            head, (context,) = read_report(report)
            self.assertEqual((head["call_paths"], context["responses"]), ("java", 3))

    def test_no_registers(self):
        with tempfile.TemporaryDirectory() as folder, corners.no_registers_left() as are_taken:
            if not are_taken:
                self.skipTest("only root takes debug registers")
            report = Path(folder) / "report.jsonl"
            said = self.run_with(f"report={report},backend=watchpoints")
            self.assertIn("classes are changed to see reads, no watchpoints: the debug registers are in use", said)
            self.assertEqual(read_report(report)[0]["backend"], "field-mask")

    @unittest.skipUnless(platform.machine() == "x86_64", "the filter is of x86-64")
    def test_registers_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.jsonl"
            said = self.run_with(f"report={report},backend=watchpoints", first=corners.refuse_registers)
            self.assertIn("no watchpoints: the kernel refuses perf_event_open (hint: ", said)
            self.assertEqual(read_report(report)[0]["backend"], "field-mask")

    def test_another_processor(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.jsonl"
            other = "-Dos.arch=riscv64"
            self.assertIn("transfers will not be seen in recordings: the agent was not built for Linux-riscv64 (hint: ",
                          self.run_with(f"report={report}", other))
            said = self.run_with(f"report={report},backend=watchpoints", other, lines=2)
            self.assertIn("classes are changed to see reads, no watchpoints: the native library is missing", said)
            self.assertEqual(read_report(report)[0]["backend"], "field-mask")

    def test_no_room_for_the_report(self):
        for report in ("/nowhere/report.jsonl", "/"):
            self.assertIn(f"transfers are not watched: no report of transfers can be written to {report}: ",
                          self.run_with(f"report={report}"))
        self.assertIn("'report' is empty (hint: report=FILE)", self.run_with("report="))

    def test_the_report_is_its_owners(self):
        """Nor is anything written through a link that somebody else has laid."""
        with tempfile.TemporaryDirectory() as folder:
            report, other = Path(folder) / "report.jsonl", Path(folder) / "other"
            other.write_text("other")
            Path(folder, "report.jsonl.part").symlink_to(other)
            arguments = f"-javaagent:{AGENT}=report={report}", "-cp", CLASSES, "corners.Corners", "3", "requests"
            subprocess.run(["java", *arguments], check=True, stdout=subprocess.DEVNULL, timeout=60)
            self.assertEqual((other.read_text(), report.stat().st_mode & 0o777), ("other", 0o600))
            self.assertEqual(read_report(report)[0]["program"], "corners.Corners")

    def test_a_report_that_is_no_file(self):
        """A link of the user's own stays one; pipes and the like stay what they are."""
        with tempfile.TemporaryDirectory() as folder:
            report, link, pipe = (Path(folder) / name for name in ("there", "link", "pipe"))
            report.touch()
            link.symlink_to(report)
            os.mkfifo(pipe)
            nothing = Path(folder) / "nothing"
            nothing.symlink_to(Path(folder) / "missing")
            subprocess.run(["java", f"-javaagent:{AGENT}=report={link}", "-cp", CLASSES, "corners.Corners", "3"],
                           check=True, stdout=subprocess.DEVNULL, timeout=60)
            self.assertTrue(link.is_symlink())
            self.assertEqual(read_report(report)[0]["program"], "corners.Corners")
            for refused in (pipe, "/dev/stdout", "/dev/null"):
                self.assertIn(f"no report of transfers can be written to {refused}: java.io.IOException: it is no regular "
                              "file, which could be replaced (hint: report=FILE)", self.run_with(f"report={refused}"))
            self.assertIn("it is a link to nothing", self.run_with(f"report={nothing}"))
            self.assertTrue(pipe.is_fifo() and nothing.is_symlink())
            if os.getuid() == 0:
                os.lchown(link, 12345, -1)
                self.assertIn("it is a link of somebody else's", self.run_with(f"report={link}"))


class Failing(unittest.TestCase):
    def test_hooks_leave_the_program_alone(self):
        ran = subprocess.run(["java", "-cp", f"{AGENT}:{CLASSES}", "slowpath.transfers.Failing"], check=True,
                             capture_output=True, text=True, timeout=60)
        # What asking for an endpoint calls is part of the call; the failures; no call is left under way.
        self.assertEqual(ran.stdout.split(), ["1", "10", "0"])

    def test_loaders_are_not_asked_who_they_are(self):
        ran = subprocess.run(["java", "-cp", f"{AGENT}:{CLASSES}", "slowpath.transfers.Loaders"], check=True,
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.stdout, "true true\n")

    def test_a_stack_that_overflows_in_a_hook(self):
        """It costs the responses of that moment, not all that the thread receives later. Interpreted: compiled code takes
        less of a stack, so that what has begun could find no room where it ends."""
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.jsonl"
            subprocess.run(["java", "-Xint", f"-javaagent:{AGENT}=report={report},paths-per-second=1000000000,"
                            "remote=corners.Overflows#fetch,corners.Overflows#fetchAfter", "-cp", CLASSES,
                            "corners.Overflows", "10"], check=True, capture_output=True, timeout=60)
            head, contexts = read_report(report)
            (after,) = [context for context in contexts
                        if context["call_path"][-1]["method"] == "fetchAfter"]
            self.assertEqual(after["responses"], 10)
            self.assertGreater(head["failures"], 0)

    def test_a_stack_that_overflows_in_to_string(self):
        """What the thread reads afterwards is use: of what it had before where another toString has called that one, and of
        what it receives."""
        for jvm in ([java, *options] for java in corners.javas() for options in ([], ["-Xint"])):
            with self.subTest(jvm), tempfile.TemporaryDirectory() as folder:
                report = Path(folder) / "report.jsonl"
                subprocess.run([*jvm, f"-javaagent:{AGENT}=report={report},arms-per-second=1000000,"
                                "remote=corners.Endless#fetch", "-cp", CLASSES, "corners.Endless", "20"], check=True,
                               capture_output=True, timeout=60)
                numbers = {row["class"].partition("$")[2]: row["fields"][0]
                           for context in read_report(report)[1] for row in context["classes"]}
                self.assertEqual([(numbers[name]["used"], numbers[name]["printed"]) for name in
                                  ("Before", "After", "Cycle", "Printed", "Asking")],
                                 [(20, 0), (20, 0), (0, 20), (0, 20), (0, 20)])

    def near_the_end(self, what, frames, later, *jvm):
        """What it says, and its report, where so little of a stack is left, and so many are received afterwards."""
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.jsonl"
            ran = subprocess.run(["java", *jvm, f"-javaagent:{AGENT}=report={report},arms-per-second=1000000,"
                                  "remote=corners.NearTheEnd#fetch", "-cp", CLASSES, "corners.NearTheEnd", what,
                                  str(frames), str(later)], capture_output=True, text=True, timeout=60)
            return ran.stdout, ran.stderr, *read_report(report)

    def test_a_stack_that_overflows_in_the_first_hook(self):
        """What of the agent were made ready there never would be, and each hooked method fail."""
        for frames in (2, 10, 20, 40, 60, 80, 100):
            with self.subTest(frames):
                said, errors, _, contexts = self.near_the_end("receive", frames, 10)
                self.assertEqual(said, "received 10\n", errors)
                (later,) = [context for context in contexts if len(context["call_path"]) == 2]
                self.assertEqual((later["responses"], [row["watched"] for row in later["classes"]]), (10, [10]))

    def test_a_stack_that_overflows_where_a_class_is_rewritten(self):
        """What that class reads is not watched, and what is watched already is censored. Where the JVM has no room to ask the agent, only the JVM says so."""
        not_rewritten = 0
        for frames, later in itertools.product(range(75, 108, 3), (0, 10)):
            with self.subTest(frames=frames, later=later):
                said, errors, head, contexts = self.near_the_end("load", frames, later, "-Xint")
                self.assertEqual(said.splitlines()[-1], f"received {later}", errors)
                not_rewritten += head["classes_not_rewritten"]
                (early,) = [context for context in contexts if context["responses"] == 1]
                self.assertEqual(early["classes"][0]["watched"], 1)
                if "ASSERTION FAILED" not in said + errors:
                    self.assertEqual([context["classes"][0]["fields"][0]["unused"] for context in contexts],
                                     [0] * (2 if later else 1))
        self.assertGreater(not_rewritten, 0)

    def test_reports_go_on_when_there_is_memory_again(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run(["java", "-cp", f"{AGENT}:{CLASSES}", "slowpath.transfers.OutOfMemory",
                                  Path(folder) / "report.jsonl"], check=True, capture_output=True, text=True, timeout=60)
            self.assertEqual(ran.stdout, "true after 4\n")


class SeveralTimes(unittest.TestCase):
    def test_methods_add_up(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.jsonl"
            subprocess.run(["java", f"-javaagent:{AGENT}=remote=corners.Corners#fetch,report={report},arms-per-second=1000000,"
                            "remote=corners.Corners#fetchCopied", "-cp", CLASSES, "corners.Corners", "3"], check=True,
                           capture_output=True, timeout=60)
            self.assertEqual({row["class"] for context in read_report(report)[1] for row in context["classes"]},
                             {"corners.Corners$Item", "corners.Corners$Copied"})


    def test_methods_add_up_in_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            report, config = Path(folder) / "report.jsonl", Path(folder) / "transfers.properties"
            arguments = ["java", f"-javaagent:{AGENT}=config={config},report={report}", "-cp", CLASSES, "corners.Corners", "3"]
            config.write_text("remote = corners.Corners#fetch\narms-per-second = 1000000\n"
                              "remote = corners.Corners#fetchCopied\n")
            subprocess.run(arguments, check=True, capture_output=True, timeout=60)
            self.assertEqual({row["class"] for context in read_report(report)[1] for row in context["classes"]},
                             {"corners.Corners$Item", "corners.Corners$Copied"})
            config.write_text("rate = 1\nrate = 0.5\n")
            ran = subprocess.run(arguments, check=True, capture_output=True, text=True, timeout=60)
            self.assertIn("'rate' is given twice (hint: one of them)", ran.stderr)


class Compiled(unittest.TestCase):
    def test_reads_of_fields_are_compiled_without_calls(self):
        """Compilers leave out methods whose signature has classes that the loader has not looked up: each read would be a call."""
        for java in corners.javas():
            with self.subTest(java=java), tempfile.TemporaryDirectory() as folder:
                ran = subprocess.run([java, "-XX:+UnlockDiagnosticVMOptions", "-XX:+PrintCompilation", "-XX:+PrintInlining",
                                      f"-javaagent:{AGENT}=report={folder}/report.jsonl", "-cp", CLASSES, "load.Bodies", "50000"],
                                     check=True, capture_output=True, text=True, timeout=60)
                asked = [line for line in ran.stdout.splitlines() if "load.Bodies$Body::slowpath$watched" in line and "@" in line]
                self.assertTrue(asked)
                self.assertEqual([line for line in asked if "unloaded" in line], [])


class ConfigurationFile(unittest.TestCase):
    def test_a_change_is_taken_over_whole_or_not_at_all(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in ("there", "wrong", "right")]
            for file, paths in zip(files, (100, "many", 300)):
                file.write_text(f"rate=1\narms-per-second={7 if file == files[0] else 8}\npaths-per-second={paths}\n"
                                f"samples={500 if file == files[2] else 400}\n")
            ran = subprocess.run(["java", "-cp", f"{AGENT}:{CLASSES}", "slowpath.transfers.Reloaded", *files], check=True,
                                 capture_output=True, text=True, timeout=60)
            self.assertEqual(ran.stdout.splitlines(), ["1.0 7 100", "1.0 7 100", "1.0 8 300"])
            self.assertIn("'paths-per-second' is many (hint: a number from 1 to 1000000000)", ran.stderr)
            late = [line for line in ran.stderr.splitlines() if "says of" in line]
            self.assertRegex(*late, "says of samples is not taken over while the program runs \\(hint: start it again\\)$")

    def test_rate_is_taken_over_while_it_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.jsonl"
            config = Path(folder) / "transfers.properties"
            config.write_text("rate = 0\nremote = corners.Corners#fetch\nreport-every = 0.1\n"
                              "arms-per-second = 1000000\nsamples = 1000000\n")
            program = subprocess.Popen(
                ["java", f"-javaagent:{AGENT}=config={config},report={report}", "-cp", CLASSES, "corners.Corners",
                 "9000"], stdout=subprocess.DEVNULL)
            self.addCleanup(program.wait)
            self.addCleanup(program.kill)

            def context():
                return report.exists() and (read_report(report)[1] or [None])[0]

            def counted():
                now = context()
                return now and now["responses"] > 500 and now
            self.assertEqual(until(counted)["looked_into"], 0)
            config.write_text(config.read_text().replace("rate = 0", "rate = 0.5"))
            program.wait(60)
            after = context()
            self.assertEqual(after["responses"], 9000)
            self.assertTrue(0 < after["looked_into"] < 6000, after["looked_into"])


if __name__ == "__main__":
    unittest.main()
