"""Runs the agent in two real Spring Boot services and in a program whose every read is known (Corners), under each
collector, and compares the agent's report with what they did. Events are compared where LTTng can be had
(OWN_LTTNG, set by own-lttng.sh). Further Java runtimes to test: JAVAS, a list of paths with `:` between. The report
of the services is kept as KEPT_REPORT says."""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import zipfile
from pathlib import Path

import corners
from corners import AGENT, CLASSES, HERE, read_report, until

SERVICES = HERE / "services/target/services.jar"
SOURCES = HERE / "services/src/main/java/shop"
REQUESTS = 420
LEAST_SAMPLES = 10_000
RECORDED = bool(os.environ.get("OWN_LTTNG"))
TICKET = ["id", "version", "trainNumber", "departure", "destination", "departsAt", "arrivesAt", "seat", "seatClass",
          "price", "passenger", "refundable"]


def fields(row):
    return {field["name"]: field for field in row["fields"]}


def line_of(marker):
    """'PlannerService.java:58' for the line with `// line: MARKER`."""
    for file in SOURCES.glob("*.java"):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if line.endswith(f"// line: {marker}"):
                return f"{file.name}:{number}"
    raise AssertionError(marker)


class Service:
    """A Java process that serves HTTP."""

    def __init__(self, folder, name, *arguments, agent=()):
        self.output = open(folder / f"{name}.log", "w+")
        self.process = subprocess.Popen(
            ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", *agent, "-jar", SERVICES.name, name, "--server.port=0",
             *arguments], cwd=SERVICES.parent, stdout=self.output, stderr=subprocess.STDOUT)

    def port(self):
        return int(until(lambda: re.search(r"^listening on (\d+)$", self.said(), re.M)).group(1))

    def said(self):
        self.output.seek(0)
        text = self.output.read()
        if self.process.poll() is not None:
            raise AssertionError(text)
        return text

    def collect(self):
        subprocess.run(["jcmd", str(self.process.pid), "GC.run"], check=True, stdout=subprocess.DEVNULL)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)
        self.output.close()


class Recording:
    """An LTTng session of the agent's events."""

    def __init__(self, folder):
        self.folder = folder / "trace"
        self.name = f"transfers-test-{os.getpid()}"
        self.lttng("create", self.name, f"--output={self.folder}")
        # Blocking, so that no event is lost however busy the machine is. (Applications must allow it.)
        os.environ["LTTNG_UST_ALLOW_BLOCKING"] = "1"
        self.lttng("enable-channel", "--userspace", "--blocking-timeout=inf", "transfers")
        self.lttng("enable-event", "--userspace", "--channel=transfers", "slowpath_transfers:*")
        self.lttng("start")

    @staticmethod
    def lttng(*arguments):
        subprocess.run(["lttng", *arguments], check=True, stdout=subprocess.DEVNULL)

    def events(self):
        self.lttng("destroy", self.name)
        return subprocess.run(["babeltrace2", self.folder], check=True, capture_output=True, text=True).stdout


class TwoServices(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        recording = Recording(cls.folder) if RECORDED else None
        tickets = Service(cls.folder, "tickets")
        cls.addClassCleanup(tickets.stop)
        cls.tickets = f"http://localhost:{tickets.port()}"
        report = cls.folder / "report.jsonl"
        planner = Service(cls.folder, "planner", f"--tickets={cls.tickets}", agent=[
            f"-javaagent:{AGENT}=report={report},report-every=0.5,arms-per-second=1000000"])
        cls.addClassCleanup(planner.stop)
        connection = http.client.HTTPConnection("localhost", planner.port())

        def get(path):
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read().decode()
            if answer.status != 200:
                raise AssertionError(f"{path}: {answer.status} {body}")
            return body

        for number in range(REQUESTS):
            for path in ("one", "all", "log", "sometimes", "keep"):
                get(f"/{path}/{number}")
            if number < 40:
                for path in ("list", "rest-client", "jackson3", "jackson2", "gson", "mapped", "forward", "local",
                             "annotated", "exchange"):
                    get(f"/{path}/{number}")
        cls.truth = [int(count) for count in get("/truth").split()]
        connection.close()

        def settled():
            planner.collect()
            time.sleep(0.7)
            return report.exists() and read_report(report)[0]["watched_now"] <= 3
        until(settled)
        cls.said = planner.said()
        planner.stop()
        cls.events = recording.events() if recording else None
        cls.head, cls.contexts = read_report(report)
        if "KEPT_REPORT" in os.environ:
            shutil.copy(report, os.environ["KEPT_REPORT"])

    def context(self, marker):
        """The context whose call path has the line of the marker."""
        place = line_of(marker)
        found = [context for context in self.contexts
                 if any(f"{frame['file']}:{frame['line']}" == place for frame in context["call_path"])]
        self.assertEqual(len(found), 1, f"{place} in {self.contexts}")
        return found[0]

    def row(self, marker, name):
        rows = self.context(marker)["classes"]
        self.assertEqual([row["class"] for row in rows], [name])
        return rows[0]

    def assert_use(self, row, used=(), printed=(), least=385):
        """Each field of the row was either used, printed or left alone by all its objects."""
        self.assertGreaterEqual(row["decided"], least)
        for name, field in fields(row).items():
            kind = "used" if name in used else "printed" if name in printed else "unused"
            self.assertEqual(field[kind], row["decided"], f"{name} {kind}: {field}")

    def test_one_field_of_twelve(self):
        row = self.row("one", "shop.Ticket")
        self.assertEqual(list(fields(row)), TICKET)
        self.assert_use(row, used=["destination"])
        self.assertAlmostEqual(row["utilisation"], 1 / 12, places=5)
        self.assertLess(fields(row)["price"]["interval"][1], 0.01)

    def test_all_fields_through_the_same_endpoint(self):
        self.assert_use(self.row("all", "shop.Ticket"), used=TICKET)
        for marker in ("one", "all"):
            self.assertEqual(self.context(marker)["endpoint"],
                             {"method": "GET", "url": f"{self.tickets}/tickets/{{id}}"})

    def test_only_logged(self):
        self.assert_use(self.row("log", "shop.Ticket"), printed=TICKET)
        self.assertEqual(self.row("log", "shop.Ticket")["utilisation"], 0)

    def test_used_sometimes(self):
        price = fields(self.row("sometimes", "shop.Ticket"))["price"]
        low, high = price["interval"]
        share = self.truth[0] / sum(self.truth)
        self.assertTrue(low <= share <= high, f"{share} in {price}")

    def test_call_path(self):
        path = self.context("one")["call_path"]
        self.assertEqual([(frame["class"], frame["method"]) for frame in path],
                         [("shop.PlannerService", "one"), ("shop.TicketClient", "ticket")])
        self.assertEqual([f"{frame['file']}:{frame['line']}" for frame in path],
                         [line_of("one"), line_of("TicketClient")])

    def test_counts(self):
        for marker in ("one", "all", "log", "sometimes", "keep"):
            self.assertEqual(self.context(marker)["responses"], REQUESTS)
        self.assertEqual(self.context("list")["responses"], 40)
        self.assertLessEqual(self.row("one", "shop.Ticket")["watched"], 400, "385 samples suffice")

    def test_objects_that_are_kept_say_nothing(self):
        row = self.row("keep", "shop.Ticket")
        self.assertEqual(row["decided"], 0)
        # Of the last ones it may not be known yet: they are watched still.
        self.assertLessEqual(row["censored"], row["watched"])
        self.assertLessEqual(row["watched"] - row["censored"], self.head["watched_now"])
        self.assertNotIn("utilisation", row)
        self.assertEqual(fields(row)["departure"]["censored_used"], row["censored"])
        self.assertEqual(fields(row)["price"]["censored_used"], 0)

    def test_families(self):
        for marker, by, name, used, printed in (
                ("list", "RestTemplate", "shop.Ticket", ["seat"], []),
                ("rest-client", "RestClient", "shop.Ticket", ["passenger"], []),
                ("jackson3", "java.net.http, Jackson", "shop.Station", ["name"], ["code", "latitude", "longitude"]),
                ("jackson2", "java.net.http, Jackson", "shop.Station", ["code"], []),
                ("gson", "java.net.http, Gson", "shop.Ticket", ["seatClass"], []),
                ("mapped", "java.net.http", "shop.Station", ["name"], []),
                ("forward", "RestTemplate", "shop.Platform", ["number", "station", "covered"], []),
                ("annotated", "@RemoteObject", "shop.Station", ["name"], [])):
            with self.subTest(marker):
                self.assertEqual(self.context(marker)["by"], by)
                self.assert_use(self.row(marker, name), used, printed, least=35)
        self.assertEqual(self.context("annotated")["endpoint"]["url"], "a queue of stations")
        self.assertEqual(self.context("gson")["endpoint"]["url"], f"{self.tickets}/tickets/{{}}")
        self.assertEqual(self.context("mapped")["endpoint"]["url"], f"{self.tickets}/stations/{{}}")
        self.assertEqual(self.context("mapped")["responses"], 40, "a body is taken once")
        self.assertEqual(self.row("list", "shop.Ticket")["objects"], 5 * self.context("list")["looked_into"])

    def test_what_is_read_before_it_is_returned(self):
        context = self.context("exchange")
        self.assertEqual((context["by"], context["responses"], context["looked_into"]), ("RestClient", 40, 0))

    def test_a_text_that_is_not_remote(self):
        place = line_of("local")
        self.assertNotIn(place, [f"{frame['file']}:{frame['line']}"
                                 for context in self.contexts for frame in context["call_path"]])

    def test_bytes(self):
        """Sizes are those of the JSON that the service sends, within a tenth."""
        row = self.row("one", "shop.Ticket")
        sent = json.dumps({"id": "ticket-200", "version": 3, "trainNumber": "G1234", "departure": "Shanghai",
                           "destination": "Nanjing", "departsAt": 1600000000000, "arrivesAt": 1600003600000,
                           "seat": 42, "seatClass": "economy", "price": 50.5, "passenger": "passenger 200",
                           "refundable": True}, separators=(",", ":"))
        bytes_of_one = sum(field["bytes"] for field in row["fields"]) / row["watched"]
        self.assertAlmostEqual(bytes_of_one, len(sent), delta=len(sent) / 10)

    def test_nothing_went_wrong(self):
        self.assertNotIn("slowpath:", self.said)
        self.assertEqual(self.head["format"], "slowpath-transfers")
        for key in ("failures", "classes_not_rewritten", "responses_without_context"):
            self.assertEqual(self.head[key], 0, key)
        self.assertEqual(self.head["not_watched"], {"over_cap": 0, "too_many": 0, "reads_unseen": 0})

    @unittest.skipUnless(RECORDED, "no LTTng session daemon of our own")
    def test_events(self):
        told = re.findall(r"slowpath_transfers:received: .*\{ context = (\d+) \}", self.events)
        for context in self.contexts:
            self.assertEqual(told.count(str(context["context"])), context["responses"])
        explained = re.findall(r'slowpath_transfers:context: .*\{ context = (\d+), by = "RestTemplate", '
                               r'method = "GET", url = "(.*?)", call_path = "(.*?)" \}', self.events)
        one = self.context("one")
        self.assertIn((str(one["context"]), one["endpoint"]["url"],
                       f"shop.PlannerService.one({line_of('one')})\\n"
                       f"shop.TicketClient.ticket({line_of('TicketClient')})"), explained)


class EveryRead(unittest.TestCase):
    """Corners reads each field in its own way while collections are forced."""

    def collectors(self, java):
        for name in ("G1", "Parallel", "Z", "Shenandoah"):
            options = [f"-XX:+Use{name}GC"]
            shipped = subprocess.run([java, *options, "-version"], capture_output=True, text=True)
            if shipped.returncode == 0:
                yield name, options

    def test_each_collector(self):
        for java in corners.javas():
            for name, options in self.collectors(java):
                with self.subTest(java=java, collector=name), tempfile.TemporaryDirectory() as folder:
                    self.check(java, options, Path(folder) / "report.jsonl")

    def check(self, java, options, report):
        agent = (f"-javaagent:{AGENT}=report={report},samples=100000,arms-per-second=1000000,"
                 "remote=corners.Corners#fetch,corners.Corners#fetchCopied")
        program = ["-cp", str(CLASSES), "corners.Corners"]
        # Twice as many as are asked for: a busy machine collects late, and what is not decided yet takes others' place.
        ran = subprocess.run([java, "-Xmx256m", *options, agent, *program, str(2 * LEAST_SAMPLES)],
                             check=True, capture_output=True, text=True, timeout=120)
        self.assertNotIn("slowpath:", ran.stderr)
        truth = dict(line.split() for line in ran.stdout.splitlines())
        head, contexts = read_report(report)
        rows = {row["class"]: row for context in contexts for row in context["classes"]}
        item = fields(rows["corners.Corners$Item"])
        decided = rows["corners.Corners$Item"]["decided"]
        self.assertGreaterEqual(decided, LEAST_SAMPLES)
        self.assertEqual(rows["corners.Corners$Item"]["censored"], 0)
        for names, kind in ((corners.USED, "used"), (corners.PRINTED, "printed"), (corners.NEVER, "unused")):
            for name in names:
                self.assertEqual(item[name][kind], decided, f"{name}: {item[name]}")
        if decided == int(truth["objects"]):
            self.assertEqual(item["sometimes"]["used"], int(truth["sometimes"]))
        self.assertEqual(rows["corners.Corners$Copied"]["decided"], 0, "copies may be read later")
        plain = subprocess.run([java, *program, "3"], check=True, capture_output=True, text=True, timeout=60)
        self.assertIn(f"serial {truth['serial']}\n", plain.stdout, "serialised objects fit with and without the agent")
        self.assertIn(f"members {truth['members']}\n", plain.stdout, "reflection tells nothing of the agent")


def watched(backend, program, *arguments, methods=("fetch",), java="java", environment=None):
    """Rows of the report of a program of the tests' that was watched as closely as can be."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.jsonl"
        remote = ",".join(f"{program}#{method}" for method in methods)
        subprocess.run([java, "-XX:+UseSerialGC", f"-javaagent:{AGENT}=report={report},samples=1000000,"
                        f"arms-per-second=1000000,aiming-share=0.5,backend={backend},remote={remote}",
                        "-cp", CLASSES, program, *arguments], check=True, stderr=subprocess.DEVNULL, timeout=60,
                       env={**os.environ, **(environment or {})})
        return [row for context in read_report(report)[1] for row in context["classes"]]


class Lengths(unittest.TestCase):
    """One object of a response stands for all that are in it, where these are many or few."""

    def check(self, backend, responses, many):
        """Of each second response the only item is read, of the others none is."""
        (row,) = watched(backend, "corners.Lengths", str(responses), str(many))
        (field,) = row["fields"]
        weighted = field["weighted"]
        self.assertEqual(row["censored"], 0)
        self.assertEqual(weighted["used"], field["used"])
        self.assertEqual(weighted["unused"], many * field["unused"])
        self.assertEqual(weighted["squares"], field["used"] + many ** 2 * field["unused"])
        sizes = [len(json.dumps({"text": "x" * length}, separators=(",", ":"))) - 1 for length in (1000, 1)]
        self.assertEqual(weighted["bytes_in_vain"], sizes[1] * many * field["unused"])
        self.assertEqual(weighted["bytes_decided"] - weighted["bytes_in_vain"], sizes[0] * field["used"])
        return row, weighted

    def test_mask(self):
        row, weighted = self.check("mask", 400, 99)
        low, high = row["fields"][0]["interval"]
        self.assertTrue(0 < low < 0.01 < high < 0.05, row)
        self.assertEqual((row["watched"], row["decided"], row["watched_weight"]), (400, 400, row["objects"]))
        self.assertEqual(row["utilisation"], 0.01)
        self.assertEqual(weighted["bytes"], weighted["bytes_decided"])

    @unittest.skipUnless(corners.has_registers(), "debug registers cannot be had here")
    def test_watchpoints(self):
        row, _ = self.check("watchpoints", 2000, 9)
        self.assertGreater(row["decided"], 100)

    def test_so_many_samples_as_say_what_is_asked_for(self):
        """Where few objects stand for nearly all, these have to be as many."""
        for many, least, most in ((1, 100, 100), (99, 190, 202)):
            with tempfile.TemporaryDirectory() as folder:
                report = Path(folder) / "report.jsonl"
                subprocess.run(["java", f"-javaagent:{AGENT}=report={report},samples=100,arms-per-second=1000000,"
                                "remote=corners.Lengths#fetch", "-cp", CLASSES, "corners.Lengths", "400", str(many)],
                               check=True, stderr=subprocess.DEVNULL, timeout=60)
                (row,) = read_report(report)[1][0]["classes"]
                self.assertTrue(least <= row["watched"] <= most, row)


class TooMany(unittest.TestCase):
    """Which of more objects than are looked at these are, chance says, not where they stand; how many, the part seen."""

    def test_the_first_are_read(self):
        rows = watched("mask", "corners.TooMany", "400",
                       methods=("fetchList", "fetchArray", "fetchDeque", "fetchParts", "fetchPage", "fetchTrains",
                                "fetchBoth", "fetchHits", "fetchAccounts", "fetchLinked"))
        counts = {}
        for row in rows:
            counts.setdefault(row["class"].split("$")[1], []).append(round(row["objects"] / 400))
        # Which accounts are looked at is left to chance, and one in a hundred has bookings: six standard deviations.
        self.assertAlmostEqual(counts.pop("Booking")[0], 50 * 300, delta=1500)
        # How many of those that refer to each other were visited is estimated, too.
        self.assertAlmostEqual(sum(counts.pop("Carriage")), 2 * 5000, delta=200)
        self.assertEqual({name: sorted(numbers) for name, numbers in counts.items()}, {
            "Page": [1], "Hits": [1], "Hit": [100], "Link": [1, 1, 3], "Both": [1], "Account": [5000],
            "Ticket": [5000] * 5 + [25_000]})
        for row in (row for row in rows if row["class"].endswith("Ticket")):
            (field,) = row["fields"]
            self.assertGreaterEqual(row["decided"], 395, row)
            self.assertAlmostEqual(field["utilisation"], 0.6, delta=0.12, msg=row)  # Nearly five standard deviations.

    def test_random_responses(self):
        """And some that are hard: no count is off but by chance, no choice that should not be, and small ones are seen whole."""
        ran = subprocess.run(["java", "-cp", f"{AGENT}:{CLASSES}", "slowpath.transfers.Estimates"], check=True,
                             capture_output=True, text=True, timeout=120)
        self.assertEqual(ran.stdout, "too large 29\n")


class ByRegisters(unittest.TestCase):
    """The same program, each object in a request of its own, with a field of each watched by a debug register."""

    @unittest.skipUnless(corners.has_registers(), "debug registers cannot be had here")
    def test_every_read(self):
        with tempfile.TemporaryDirectory() as folder:
            corners.run("java", ["-XX:+UseG1GC"], "watchpoints", Path(folder), least=200).check(self)

    @unittest.skipUnless(corners.has_registers(), "debug registers cannot be had here")
    def test_aiming_share(self):
        """Where it is used up, what moves is lost instead of followed, no matter what was read of it before. During the first
        of many requests the class is made ready."""
        for share, is_lost in ((1, False), (0.001, True)):
            with self.subTest(share), tempfile.TemporaryDirectory() as folder:
                report = Path(folder) / "report.jsonl"
                subprocess.run(["java", "-XX:+UseSerialGC", "-Xmx32m", f"-javaagent:{AGENT}=report={report},"
                                f"arms-per-second=1000000,aiming-share={share},backend=watchpoints,"
                                "remote=corners.ManyThreads#fetch", "-cp", CLASSES, "corners.ManyThreads", "1500", "120"],
                               check=True, timeout=60)
                row = read_report(report)[1][0]["classes"][0]
                self.assertGreater(row["watched"], 0)
                self.assertEqual(row["lost"], row["watched"] if is_lost else 0, row)
                self.assertEqual([field["unused"] for field in row["fields"]], [0, 0])

    @unittest.skipUnless(corners.has_registers(), "debug registers cannot be had here")
    def test_a_program_that_takes_the_signal(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.jsonl"
            ran = subprocess.run(["java", f"-javaagent:{AGENT}=report={report},report-every=0.2,arms-per-second=1000,"
                                  "aiming-share=0.5,backend=watchpoints,remote=corners.Trapped#fetch", "-cp", CLASSES, "corners.Trapped"],
                                 check=True, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertIn("slowpath: reads are not seen any more: the program has taken SIGTRAP for itself", ran.stderr)
            row = read_report(report)[1][0]["classes"][0]
            self.assertGreater(row["decided"], 10)
            self.assertGreater(row["lost"], 10)
            self.assertEqual(row["fields"][0]["unused"], 0)

    @unittest.skipUnless(corners.has_registers(), "debug registers cannot be had here")
    def test_who_reads_as_another_one_does_does_not_read_the_next_object(self):
        with tempfile.TemporaryDirectory() as folder:
            slow = Path(folder) / "slow.so"
            subprocess.run(["cc", "-shared", "-fPIC", "-o", slow, HERE / "slow.c"], check=True)
            (row,) = watched("watchpoints", "corners.Shared", "4000", environment={"LD_PRELOAD": str(slow)})
        fields = {field["name"]: field for field in row["fields"]}
        self.assertGreater(fields["never"]["unused"], 20, row)
        self.assertGreater(fields["read"]["used"], 20, row)
        self.assertEqual((fields["never"]["used"], fields["read"]["unused"]), (0, 0), row)

    @unittest.skipUnless(corners.has_registers(), "debug registers cannot be had here")
    def test_objects_that_arrive_twice(self):
        rows = watched("watchpoints", "corners.Twice", "2000", methods=("fetch", "pass"))
        self.assertGreater(sum(row["decided"] for row in rows), 100)
        self.assertEqual([row["fields"][0]["unused"] for row in rows], [0] * len(rows), rows)

    @unittest.skipUnless(corners.has_registers(), "debug registers cannot be had here")
    def test_copies_of_what_was_read_already(self):
        """They are censored like those of what was not, so that the share that was read stays what it is."""
        row = watched("watchpoints", "corners.Halves", "5")[0]
        self.assertGreater(row["decided"], 300)
        self.assertAlmostEqual(row["utilisation"], 0.5, delta=0.1)
        self.assertAlmostEqual(row["censored"] / row["watched"], 0.5, delta=0.1)

    @unittest.skipUnless(corners.has_registers(), "debug registers cannot be had here")
    def test_requests_that_go_on_when_the_servlet_returns(self):
        read, never = watched("watchpoints", "corners.Deferred", "5")[0]["fields"]
        self.assertGreater(read["used"], 10)
        self.assertGreater(never["unused"], 10)
        self.assertEqual((read["unused"], never["used"]), (0, 0))

    @unittest.skipUnless(corners.has_registers(), "debug registers cannot be had here")
    def test_virtual_threads(self):
        """Who waits in toString runs on another thread of the system afterwards, and somebody else on this one."""
        with_virtual = [java for java in corners.javas() if corners.version(java) >= 21]
        if not with_virtual:
            self.skipTest("no Java 21 or later (JAVAS)")
        for java in with_virtual:
            with self.subTest(java=java):
                row = watched("watchpoints", "virtual.Virtual", "5", java=java)[0]
                read, printed, never = row["fields"]
                self.assertGreater(row["decided"], 100)
                self.assertGreater(row["censored"], 100, "those that were printed")
                self.assertGreaterEqual(read["used"], 0.99 * (read["used"] + read["printed"] + read["unused"]), read)
                self.assertEqual((printed["used"], printed["printed"], never["used"], never["printed"]), (0, 0, 0, 0))

    @unittest.skipUnless(corners.has_registers(), "debug registers cannot be had here")
    def test_attached_to_a_program_that_runs(self):
        def check(process, attached):
            self.assertEqual(attached, (0, f"slowpath: process {process}: the report is {folder}/report.jsonl\n"))
            self.assertEqual(corners.attach(process, ""), (
                3, f"slowpath: process {process}: transfers are watched already, by another agent: this one does "
                "nothing (hint: the file that the other's 'config' names changes some of its options)\n"))
        with tempfile.TemporaryDirectory() as folder:
            corners.run("java", ["-XX:+UseG1GC"], "auto", Path(folder), least=200, attached=check).check(self)

    def test_what_cannot_be_attached(self):
        with subprocess.Popen(["java", "-cp", CLASSES, "corners.Corners", "1000000000"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as program, contextlib.ExitStack() as end:
            end.callback(program.kill)
            time.sleep(1)
            status, said = corners.attach(program.pid, "backend=mask")
            self.assertIn("'backend' is mask, which changes classes when they are loaded, and the program runs already",
                          said)
            self.assertEqual((status, program.poll()), (3, None))
            for _ in range(2):
                status, said = corners.attach(program.pid, "report=/nowhere/report.jsonl")
                self.assertIn("no report of transfers can be written to /nowhere/report.jsonl: ", said)
                self.assertEqual((status, program.poll()), (3, None))
            program.kill()
        self.assertIn("cannot attach: ", corners.attach(program.pid, "")[1])


class Presence(unittest.TestCase):
    """To ask a message of Protocol Buffers whether a field is set is a read of it."""

    def check(self, backend):
        (row,) = watched(backend, "corners.Presence", "2000")
        for name, kind in (("kind", "used"), ("seat", "used"), ("seatCount", "printed"), ("name", "unused"),
                           ("nameCase", "used")):
            field = fields(row).pop(name)
            decided = field["used"] + field["printed"] + field["unused"]
            self.assertGreater(decided, 20)
            self.assertEqual(field[kind], decided, field)
        self.assertEqual(len(row["fields"]), 5)

    def test_mask(self):
        self.check("mask")

    @unittest.skipUnless(corners.has_registers(), "debug registers cannot be had here")
    def test_watchpoints(self):
        self.check("watchpoints")


class Lists(unittest.TestCase):
    """What the text of an object has of another one that came with it is no use, whichever of them are watched."""

    def check(self, backend, responses, least):
        kinds = {"name": "printed", "seat": "used", "never": "unused", "ticket": "used"}
        rows = watched(backend, "corners.Lists", str(responses))
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertGreaterEqual(row["decided"], least, row)
            for field in row["fields"]:
                decided = field["used"] + field["printed"] + field["unused"]
                self.assertEqual(field[kinds[field["name"]]], decided, field)

    def test_mask(self):
        self.check("mask", 1000, 1000)

    @unittest.skipUnless(corners.has_registers(), "debug registers cannot be had here")
    def test_watchpoints(self):
        self.check("watchpoints", 3000, 5)


class InAModule(unittest.TestCase):
    """A named one, which opens nothing to anybody."""

    def check(self, backend):
        with tempfile.TemporaryDirectory() as folder:
            module, report = Path(folder) / "module", Path(folder) / "report.jsonl"
            (Path(folder) / "module-info.java").write_text("module corners { }\n")
            sources = CLASSES.parent.parent / "src/test/java"
            subprocess.run(["javac", "-d", module, Path(folder) / "module-info.java", sources / "corners/Corners.java",
                            *sources.glob("jakarta/**/*.java"), *sources.glob("org/**/*.java")], check=True)
            subprocess.run(["java", f"-javaagent:{AGENT}=report={report},backend={backend},arms-per-second=1000000,"
                            "remote=corners.Corners#fetch", "-p", module, "-m", "corners/corners.Corners", "600",
                            "requests"], check=True, stdout=subprocess.DEVNULL, timeout=60)
            (row,) = read_report(report)[1][0]["classes"]
            self.assertGreater(row["decided"], 0)
            self.assertGreater(sum(field["used"] for field in row["fields"] if field["name"] in corners.USED), 0)

    def test_mask(self):
        self.check("mask")

    @unittest.skipUnless(corners.has_registers(), "debug registers cannot be had here")
    def test_watchpoints(self):
        self.check("watchpoints")


class OtherClasses(unittest.TestCase):
    """Than those of the application that are loaded as usual."""

    def run_with(self, options, *program, java="java", classes=CLASSES):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.jsonl"
            ran = subprocess.run([java, f"-javaagent:{AGENT}=report={report},arms-per-second=1000000,{options}", "-cp",
                                  classes, *program], capture_output=True, text=True, timeout=60)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            return ran.stdout, *read_report(report)

    def test_a_loader_that_does_not_find_the_agent(self):
        for how in ([], ["bundle"]):
            with self.subTest(how):
                said, head, _ = self.run_with("", "isolated.Isolated", CLASSES, *how)
                self.assertEqual((said, head["classes_not_rewritten"]), ("bundle runs\n", 1))

    def test_switched_off(self):
        said, head, contexts = self.run_with("counting=off,remote=corners.Corners#fetch", "corners.Corners", "40")
        self.assertEqual((contexts, head["failures"]), ([], 0))
        self.assertIn("objects ", said)

    def test_readers_that_are_not_the_application(self):
        for options in ("packages=elsewhere.data", "exclude=elsewhere.web"):
            with self.subTest(options):
                _, _, (context,) = self.run_with(f"{options},remote=elsewhere.data.Item#fetch", "elsewhere.web.Reader",
                                                 "40")
                (row,) = context["classes"]
                self.assertEqual([(field["used"], field["unused"]) for field in row["fields"]], [(40, 0), (0, 40)])

    def test_a_class_of_a_library_between_two_of_the_application(self):
        """Its own fields are none of the application's; what it and the class above declare has numbers of its own."""
        own = "packages=corners.Between$Base,packages=corners.Between$Item"
        for options in ("exclude=corners.Between$Library", own):
            with self.subTest(options):
                _, _, (context,) = self.run_with(f"{options},remote=corners.Between#fetch", "corners.Between", "40")
                (row,) = context["classes"]
                self.assertEqual([(field["name"], field["used"], field["unused"]) for field in row["fields"]],
                                 [("inherited", 40, 0), ("inheritedNever", 0, 40), ("byHandle", 40, 0), ("read", 40, 0),
                                  ("never", 0, 40)])

    def test_reads_become_unseen_while_objects_are_watched(self):
        """What was not read of these until then may be read later."""
        _, head, (context,) = self.run_with("remote=corners.ReadLater$Remote#fetch", "corners.ReadLater", "40")
        (row,) = context["classes"]
        (read,) = row["fields"]
        self.assertEqual((row["watched"], row["censored"], read["unused"], head["failures"]), (40, 40, 0, 0))

    def test_a_loader_that_looks_for_files_under_a_lock(self):
        said, head, (context,) = self.run_with("remote=isolated.Refreshed$Item#fetch", "isolated.Refreshed", CLASSES)
        (row,) = context["classes"]
        self.assertEqual((said, row["watched"], head["failures"]), ("received 1\nrefreshed\n", 1, 0))

    def test_loaders_that_are_thrown_away(self):
        """Their classes keep what they have received."""
        said, head, (context,) = self.run_with("remote=isolated.ThrownAway$Item#fetch", "isolated.ThrownAway", CLASSES, "20")
        (row,) = context["classes"]
        self.assertEqual((said, row["decided"], head["failures"]), ("left 0\n", 20, 0))

    def test_a_loader_that_changes_classes(self):
        """Loaders below tell of the class as it was, so its readers are not known to be those of this class."""
        with tempfile.TemporaryDirectory() as changed:
            (Path(changed) / "Item.java").write_text(
                "package elsewhere.data; public class Item { public int added; public String read, never;"
                "public static Item fetch() { return new Item(); } }")
            subprocess.run(["javac", "-d", changed, Path(changed) / "Item.java"], check=True)
            for order in ([], ["first"]):
                with self.subTest(order):
                    _, head, (context,) = self.run_with("remote=elsewhere.data.Item#fetch", "isolated.Woven", changed,
                                                        CLASSES, "40", *order)
                    (row,) = context["classes"]
                    self.assertEqual((row["watched"], head["not_watched"]["reads_unseen"]), (0, 40), row)

    def test_loaders_that_are_equal(self):
        """They are others all the same, and not asked."""
        ran = subprocess.run(["java", "-cp", f"{AGENT}:{CLASSES}", "slowpath.transfers.Layouts"], check=True,
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.stdout, "[read, never]\n[count]\nasked 0\n")

    def test_fields_of_one_name(self):
        """In one class they are left out; one that is inherited is told from one of another type below."""
        with tempfile.TemporaryDirectory() as obfuscated:
            (Path(obfuscated) / "corners").mkdir()
            for file in CLASSES.glob("corners/Homonyms*.class"):
                (Path(obfuscated) / "corners" / file.name).write_bytes(
                    file.read_bytes().replace(b"bField", b"aField").replace(b"inheriter", b"inherited")
                    .replace(b"asHandle", b"byHandle"))
            _, _, (context,) = self.run_with("remote=corners.Homonyms#fetch", "corners.Homonyms", "40",
                                             classes=obfuscated)
            (row,) = context["classes"]
            self.assertEqual([(field["name"], field["used"], field["unused"]) for field in row["fields"]],
                             [("Homonyms$Base.inherited", 40, 0), ("Homonyms$Base.byHandle", 40, 0),
                              ("inherited", 0, 40), ("byHandle", 0, 40)])

    def test_objects_that_look_like_something_else(self):
        """Only logged, by a toString of a class without fields; numbers of the program's own; values, which are no objects
        that are too many. What the JVM says of a field of nothing names no field of the agent's."""
        said, head, contexts = self.run_with("remote=corners.Values#fetch", "corners.Values", "40")
        self.assertRegex(said, '^Cannot read field "next" because ".*" is null\n$')
        self.assertEqual(head["failures"], 0)
        rows = {row["class"].split("$")[1]: row for context in contexts for row in context["classes"]}
        self.assertEqual([(field["used"], field["printed"]) for field in rows["Logged"]["fields"]], [(0, 40)])
        self.assertEqual([(field["name"], field["used"]) for field in rows["Money"]["fields"]], [("cents", 40), ("never", 0)])
        self.assertEqual((rows["Stop"]["objects"], max(context["too_large"] for context in contexts)), (40 * 600, 0))

    def test_methods_that_return_numbers(self):
        """They stay as they are, and those of the same name that return objects are seen."""
        said, head, contexts = self.run_with("remote=corners.Overloads#fetch", "corners.Overloads", "40")
        self.assertEqual((said, head["failures"]), ("sum 240.0\n", 0))
        self.assertEqual([context["responses"] for context in contexts], [40, 40])

    def test_hidden_classes_that_read(self):
        for java in filter(lambda java: corners.version(java) >= 16, corners.javas()):
            with self.subTest(java=java):
                _, head, (context,) = self.run_with("remote=corners.HiddenReaders#fetch", "corners.HiddenReaders", "40",
                                                    java=java)
                (row,) = context["classes"]
                self.assertEqual([(field["used"], field["unused"]) for field in row["fields"]],
                                 [(40, 0), (40, 0), (0, 40)])
                self.assertEqual(head["classes_not_rewritten"], 0)

    def test_classes_that_are_defined_without_a_name(self):
        _, _, (context,) = self.run_with("remote=isolated.Nameless#fetch", "isolated.Nameless", "40")
        (row,) = context["classes"]
        self.assertEqual([(field["used"], field["unused"]) for field in row["fields"]], [(40, 0), (0, 40)])

    def test_annotations_that_name_what_is_not_ready(self):
        """What it is initialised with is up to the program, and so is when."""
        said, head, (context,) = self.run_with("remote=corners.Annotated#fetch", "corners.Annotated")
        self.assertEqual((said, head["failures"]), ("size 5\n", 0))
        self.assertEqual([(row["class"], row["watched"]) for row in context["classes"]],
                         [("corners.Annotated$Item", 1)])

    def test_reads_that_are_no_bytecode(self):
        """Nothing that is read so is said to be unused."""
        for java in corners.javas():
            with self.subTest(java=java):
                _, head, contexts = self.run_with(
                    "remote=corners.Unusual#fetchUpdated,corners.Unusual#fetchSerialised", "corners.Unusual", "40",
                    java=java)
                rows = {row["class"].partition("$")[2]: row for context in contexts for row in context["classes"]}
                self.assertEqual((rows["Updated"]["watched"], head["not_watched"]["reads_unseen"]), (0, 40))
                self.assertEqual((rows["Serialised"]["censored"], rows["Serialised"]["decided"]), (40, 0))


class Views(unittest.TestCase):
    """Collections that are made of others are looked into where no method of the program is called, be it for sizes."""

    def run_with(self, java, backend, program):
        """What it says, its report, and of which classes there were how many objects."""
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.jsonl"
            methods = ",".join(f"{program}#{method}" for method in ("fetch", "fetchOwn", "fetchHolder"))
            ran = subprocess.run([java, f"-javaagent:{AGENT}=report={report},samples=1000000,arms-per-second=1000000,"
                                  f"backend={backend},remote={methods}", "-cp", CLASSES, program, "20"],
                                 check=True, capture_output=True, text=True, timeout=60)
            # The only warning of its kind that a JVM gives, it gives of the program.
            self.assertNotIn("illegal reflective access", ran.stderr)
            head, contexts = read_report(report)
            self.assertEqual(head["failures"], 0)
            return ran.stdout, sorted(
                (row["class"], row["objects"]) for context in contexts for row in context["classes"])

    def check(self, java, backend):
        said, objects = self.run_with(java, backend, "corners.Views")
        self.assertEqual(said, "calls 0, views 27\n")
        self.assertEqual(objects, [("corners.Views$Holder", 20), ("corners.Views$Holder", 20 * 19),
                                   ("corners.Views$Item", 20 * 27 * 2)])

    def test_mask(self):
        for java in corners.javas():
            with self.subTest(java=java):
                self.check(java, "mask")

    @unittest.skipUnless(corners.has_registers(), "debug registers cannot be had here")
    def test_watchpoints(self):
        self.check("java", "watchpoints")

    def test_what_others_have_locked(self):
        """Nobody waits for who has such a lock: that one may wait for a lock that the thread of the program has."""
        self.assertEqual(self.run_with("java", "mask", "corners.Locks"),
                         ("received 11\n", [("corners.Locks$Holder", 20 * 11)]))


class BehindAnotherAgent(unittest.TestCase):
    """That of OpenTelemetry, which asks each class that is loaded for its interfaces."""

    OTHER = HERE.parent.parent / "spans-java/target/for-tests/opentelemetry-javaagent.jar"

    @unittest.skipUnless(OTHER.exists(), "make -C agents/spans-java fetches OpenTelemetry's agent")
    def test_the_program_starts_and_is_watched(self):
        quiet = {f"OTEL_{signal}_EXPORTER": "none" for signal in ("TRACES", "METRICS", "LOGS")}
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.jsonl"
            ran = subprocess.run(
                ["java", f"-javaagent:{self.OTHER}", f"-javaagent:{AGENT}=report={report},remote=corners.Corners#fetch",
                 "-cp", CLASSES, "corners.Corners", "3"], env={**os.environ, **quiet}, capture_output=True, text=True, timeout=120)
            self.assertIn("objects 3\n", ran.stdout, ran.stderr)
            head, (context,) = read_report(report)
            self.assertEqual((head["backend"], head["classes_not_rewritten"]), ("field-mask", 0))
            (row,) = context["classes"]
            self.assertEqual((row["objects"], row["decided"]), (3, 3))


    def test_classes_that_are_loaded_before(self):
        """Methods of theirs are hooked, once; what they read is seen; and who redefines them may."""
        for backend in ("mask", "watchpoints") if corners.has_registers() else ("mask",):
            with self.subTest(backend), tempfile.TemporaryDirectory() as folder:
                other, report = Path(folder) / "early.jar", Path(folder) / "report.jsonl"
                with zipfile.ZipFile(other, "w") as jar:
                    jar.writestr("META-INF/MANIFEST.MF", "Premain-Class: early.Early\nCan-Redefine-Classes: true\n")
                ran = subprocess.run(
                    ["java", "-cp", CLASSES, f"-javaagent:{other}", f"-javaagent:{AGENT}=report={report},backend={backend},"
                     "arms-per-second=1000000,remote=corners.Lengths#fetch", "early.Early", "3000", "1"],
                    capture_output=True, text=True, timeout=60)
                self.assertEqual(ran.stdout, "redefined 1\n", ran.stderr)
                head, (context,) = read_report(report)
                self.assertEqual((context["responses"], head["classes_not_rewritten"]), (3000, 0))
                (row,) = context["classes"]
                self.assertGreater(row["decided"], 0, row)
                self.assertEqual(row["fields"][0]["unused"], 0, row)


if __name__ == "__main__":
    unittest.main()
