"""Runs a program that receives objects through one library after the other, each from a real server (families), under
the agent, and compares the report with what the program did. FAMILIES names where other versions were built."""
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
AGENT = HERE.parent / "target/slowpath-transfers.jar"
CLASSES = HERE.parent / "target/test-classes"
FAMILIES = HERE / "families" / os.environ.get("FAMILIES", "target")
SOURCES = HERE / "families/src/main/java/families"
TIMES = 30
ENCODINGS = {"JdbcTemplate": "row", "Hibernate": "row", "gRPC": "protobuf", "MongoDB": "bson",
             "MongoTemplate": "bson"}
ALL = ["jdbc", "jpa", "resttemplate", "webclient", "feign", "jaxrs", "grpc", "mongodb", "elasticsearch"]


def line_of(marker):
    """'JdbcFamily.java:83' for the line with `// line: MARKER`."""
    for file in SOURCES.glob("*.java"):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if line.endswith(f"// line: {marker}"):
                return f"{file.name}:{number}"
    raise AssertionError(marker)


class EachFamily(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.jsonl"
            cls.ran = subprocess.run(
                ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1",
                 f"-javaagent:{AGENT}=report={report},arms-per-second=1000000,exclude=de.bwaldvogel.",
                 f"-Dfamilies.folder={folder}",
                 "-Des.set.netty.runtime.available.processors=false",
                 "-cp", f"{FAMILIES}/families.jar:{FAMILIES}/lib/*", "families.Families", str(TIMES), *ALL],
                capture_output=True, text=True, timeout=240)
            if cls.ran.returncode:
                raise AssertionError(cls.ran.stdout[-3000:] + cls.ran.stderr[-3000:])
            cls.head, *cls.contexts = [json.loads(line) for line in report.read_text().splitlines()]

    def context(self, marker):
        """The context whose call path ends at the line of the marker."""
        place = line_of(marker)
        found = [context for context in self.contexts
                 if place in [f"{frame['file']}:{frame['line']}" for frame in context["call_path"]]]
        self.assertEqual(len(found), 1, f"{place} in {self.contexts}")
        return found[0]

    def check(self, marker, by, endpoint, name, used=(), printed=(), responses=TIMES, objects=1, size=None):
        """Every one of the context's responses has so many objects of one class, of each of which these fields were
        used, those printed, and no other one read; `size` is that of one object, in bytes."""
        context = self.context(marker)
        self.assertEqual((context["by"], context["responses"]), (by, responses))
        self.assertEqual(context["encoding"], ENCODINGS.get(by, "json"))
        method, url = context["endpoint"]["method"], context["endpoint"]["url"]
        self.assertRegex(f"{method} {url}", f"^{endpoint}$")
        self.assertEqual([row["class"] for row in context["classes"]], [name])
        row, = context["classes"]
        self.assertEqual(row["objects"], round(objects * responses))
        self.assertEqual((row["decided"], row["censored"]), (responses, 0), row)
        for field in row["fields"]:
            kind = "used" if field["name"] in used else "printed" if field["name"] in printed else "unused"
            self.assertEqual(field[kind], row["decided"], f"{field['name']} {kind}: {field}")
        if size:
            self.assertAlmostEqual(sum(field["bytes"] for field in row["fields"]) / row["watched"], size,
                                   delta=size / 10)

    def check_counted(self, marker):
        """Nothing is said of fields, as the program's own code sees the objects before they are returned."""
        context = self.context(marker)
        self.assertEqual((context["responses"], context["looked_into"], context["classes"]), (TIMES, 0, []))

    def test_jdbc(self):
        row, bean = "families.JdbcFamily$StationRow", "families.JdbcFamily$StationBean"
        # Each value as text after its length: 4 + 1, 4 + 12, 4 + 5, 4 + 5, 4 + 5.
        self.check("jdbc-template", "JdbcTemplate", "SELECT STATIONS", row, ["name"], objects=3, size=48)
        self.check("jdbc-bean", "JdbcTemplate", "SELECT stations", bean, ["latitude"])
        self.check("jdbc-named", "JdbcTemplate", "SELECT STATIONS", bean, ["operator"])
        self.check("jdbc-repository", "JdbcTemplate", "SELECT STATIONS", row, ["id"])
        self.check_counted("jdbc-extractor")

    def test_hibernate(self):
        """Hibernate itself reads every field, as it looks for changes when a transaction ends, and has what changed
        validated: no use."""
        entity, operator = "families.JpaFamily$StationEntity", "families.JpaFamily$Operator"
        self.check("jpa-repository", "Hibernate", "SELECT STATIONS", entity, ["name"], size=5.7 + 16.7 + 7 + 7 + 554)
        self.check("jpa-query", "Hibernate", "SELECT STATIONS", entity, ["latitude"], objects=10)
        self.check("jpa-lazy", "Hibernate", "SELECT STATIONS", entity, ["operator"])
        self.check("jpa-proxy", "Hibernate", "SELECT OPERATORS", operator, ["name"])
        self.assertNotIn("$HibernateProxy", str(self.context("jpa-proxy")["call_path"]))
        self.check("jpa-operator", "Hibernate", "SELECT OPERATORS", operator, ["stations"])
        self.check("jpa-collection", "Hibernate", "SELECT STATIONS", entity, ["name"], objects=100)
        self.check("jpa-changed", "Hibernate", "SELECT STATIONS", entity, ["longitude"])

    def test_hibernate_tells_the_entity(self):
        """What an entity reads when it is told that it is loaded is read; what it makes of that did not come."""
        self.check("jpa-made", "Hibernate", "SELECT TIMETABLES", "families.JpaFamily$TimeTable",
                   ["line", "departures"], size=5 + 6 + 21)

    def test_hibernate_loads_several(self):
        self.check("jpa-several", "Hibernate", "SELECT STATIONS", "families.JpaFamily$StationEntity", ["longitude"], objects=3)

    def test_hibernate_by_getters(self):
        """What its getter says is transient came from nowhere."""
        self.check("jpa-getters", "Hibernate", "SELECT TRAMS", "families.JpaFamily$Tram", ["model"], size=5 + 11 + 4)

    def test_hibernate_by_fields(self):
        """Where its properties are its fields, what a getter says decides nothing."""
        self.check("jpa-fields", "Hibernate", "SELECT BUSES", "families.JpaFamily$Bus", ["model"], size=5 + 10 + 7)

    def test_what_refers_to_other_entities_is_told(self):
        """By annotations of fields, or of getters where these are the properties."""
        for marker, references in (("jpa-lazy", ["operator"]), ("jpa-operator", ["stations"]), ("jpa-getters", ["operator"]),
                                   ("jpa-fields", [])):
            row, = self.context(marker)["classes"]
            self.assertEqual([field["name"] for field in row["fields"] if field["refers"]], references, marker)

    def test_what_is_embedded_is_told(self):
        """It has no row of its own."""
        embedded = {row["class"]: row["embedded"] for row in self.context("jpa-embedded")["classes"]}
        self.assertEqual(embedded, {"families.JpaFamily$Depot": False, "families.JpaFamily$Address": True})

    def test_hibernate_loads_once(self):
        """What the session has already does not arrive again."""
        self.check("jpa-find", "Hibernate", "SELECT STATIONS", "families.JpaFamily$StationEntity", ["name"])
        self.assertNotIn(line_of("jpa-found"), [f"{frame['file']}:{frame['line']}" for context in self.contexts
                                                for frame in context["call_path"]])

    def test_rest_template(self):
        self.check("rest-template", "RestTemplate", r"GET http://localhost:\d+/api/stations/\{id\}", "families.Station",
                   ["name"], size=108)
        self.check_counted("rest-extractor")
        self.check("rest-listed", "RestTemplate", r"GET http://localhost:\d+/api/stations", "families.Station",
                   ["platforms"], objects=3)
        labelled = "families.LabelledStation"
        self.check("rest-labelled", "RestTemplate", r"GET http://localhost:\d+/api/stations/\{id\}", labelled, ["name"],
                   size=len('"code":"S15","name":"Station of 15","platforms":7,'))
        self.assertEqual([field["name"] for field in self.context("rest-labelled")["classes"][0]["fields"]],
                         ["numberOfTheStation", "name", "platforms"])
        self.check("rest-made", "RestTemplate", r"GET http://localhost:\d+/api/stations/\{id\}", "families.MadeStation",
                   ["title"], size=len('"code":"S15","name":"Station of 15"'))

    def test_web_client(self):
        station = "families.Station"
        self.check("web-client", "WebClient", r"GET http://localhost:\d+/api/stations/\{id\}", station, ["name"],
                   size=len('{"code":"S15","name":"Station of 15","latitude":31.25,"longitude":121.5,"platforms":7,'
                            '"lines":["2","10","17"]}'))
        self.check("web-client-flux", "WebClient", r"GET http://localhost:\d+/api/stations", station, ["platforms"],
                   responses=3 * TIMES)
        self.check("web-client-entity", "WebClient", r"GET http://localhost:\d+/api/stations/\{\}", station,
                   printed=["code", "name"])

    def test_feign(self):
        station = "families.Station"
        self.check("feign", "Feign", r"GET http://localhost:\d+/api/stations/\{id\}", station, ["name"], size=108)
        self.check("feign-list", "Feign", r"GET http://localhost:\d+/api/stations", station, ["platforms"], objects=3)

    def test_jax_rs(self):
        station = "families.Station"
        self.check("jax-rs", "JAX-RS", r"GET http://localhost:\d+/api/stations/\{\}", station, ["name"], size=108)
        self.check("jax-rs-read", "JAX-RS", r"GET http://localhost:\d+/api/stations/\{\}", station, ["latitude"])
        self.check("jax-rs-list", "JAX-RS", r"GET http://localhost:\d+/api/stations", station, ["platforms"],
                   objects=3)

    def test_grpc(self):
        address = "com.google.type.PostalAddress"
        # Tag, length and text of each: CN, 200000, Shanghai, two lines and "Station S15".
        self.check("grpc", "gRPC", " /families.Addresses/Find", address, ["locality"], size=4 + 8 + 10 + 10 + 8 + 13)
        self.check("grpc-stream", "gRPC", " /families.Addresses/All", address, ["postalCode"], responses=3 * TIMES)
        self.check("grpc-async", "gRPC", " /families.Addresses/Find", address, ["regionCode"])
        self.check("grpc-future", "gRPC", " /families.Addresses/Find", address, ["organization"])
        self.check("grpc-lines", "gRPC", " /families.Addresses/Find", address, ["addressLines"])
        self.check("grpc-set", "gRPC", " /families.Addresses/Last", "com.google.logging.type.HttpRequest", ["latency"])
        self.check("grpc-oneof", "gRPC", " /families.Addresses/Since", "com.google.type.DateTime", ["timeOffset"])
        self.check("grpc-log", "gRPC", " /families.Addresses/Find", address, printed=[
            "revision", "regionCode", "languageCode", "postalCode", "sortingCode", "administrativeArea", "locality",
            "sublocality", "addressLines", "recipients", "organization"])

    def test_mongodb(self):
        station = "families.Station"
        # Type, name and value of each: two texts, two doubles, an int, a list of three texts.
        self.check("mongodb", "MongoDB", "find shop.stations", station, ["name"],
                   size=13 + 6 + 12 + 10 + 19 + 18 + 15 + 42)
        self.check("mongodb-aggregate", "MongoDB", "aggregate shop.stations", station, ["longitude"], objects=6)
        # Ten documents in batches of four are three responses.
        self.check("mongodb-next", "MongoDB", "find shop.stations", station, ["platforms"], responses=3 * TIMES,
                   objects=10 / 3)
        self.check("mongodb-changed", "MongoDB", "findOneAndUpdate shop.stations", station, ["latitude"])

    def test_spring_data_mongodb(self):
        document = "families.MongoFamily$StationDocument"
        self.check("mongo-template", "MongoTemplate", "find shop.stations", document, ["name"], size=135)
        self.check("mongo-repository", "MongoTemplate", "find shop.stations", document, ["lines"])
        self.check("mongo-aggregation", "MongoTemplate", "aggregate shop.stations", document, ["code"])

    def test_elasticsearch(self):
        station = "families.Station"
        self.check("elasticsearch", "Elasticsearch", "get stations", station, ["name"], size=106)
        self.check("elasticsearch-search", "Elasticsearch", "search stations", station, ["platforms"])
        self.check("elasticsearch-several", "Elasticsearch", "mget stations", station, ["latitude"], objects=2)

    def test_nothing_went_wrong(self):
        self.assertNotIn("slowpath:", self.ran.stderr)
        for key in ("failures", "classes_not_rewritten", "responses_without_context", "watched_now"):
            self.assertEqual(self.head[key], 0, key)
        self.assertEqual(self.head["not_watched"], {"over_cap": 0, "too_many": 0, "reads_unseen": 0})


class Shapes(unittest.TestCase):
    """Which fields JSON fills, and how constants and trees are written, the libraries themselves say."""

    def run_with(self, *command):
        ran = subprocess.run(["java", "-cp", f"{AGENT}:{CLASSES}:{FAMILIES}/families.jar:{FAMILIES}/lib/*", *command],
                             capture_output=True, text=True, timeout=60, check=True)
        return ran.stdout.splitlines()

    def test_the_agent_takes_annotations_as_jackson_does(self):
        by_jackson = self.run_with("families.Shapes")
        self.assertGreater(len(by_jackson), 20)
        self.assertEqual(self.run_with("slowpath.transfers.Shapes", "families.Shapes"), by_jackson)

    def test_trees_are_as_long_as_their_text(self):
        self.assertEqual(self.run_with("slowpath.transfers.Trees", "families.Trees"), self.run_with("families.Trees"))


if __name__ == "__main__":
    unittest.main()
