"""What the agent makes of URLs, of queries in SQL and of values, without a program that it watches: names of endpoints, and
bytes."""
import subprocess
import unittest

from corners import AGENT, CLASSES


class Endpoints(unittest.TestCase):
    """Of a URL nothing is told that identifies a single thing, or that may be secret."""

    def test_names(self):
        token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
        names = {
            "http://host:80/orders/17/lines?of=3#4": "http://host:80/orders/{}/lines",
            "http://host/orders/6f1c2d9e-7a54-4e6b-9a3f-0c8d1b2a3e4f": "http://host/orders/{}",
            "http://user:s3cret@host/x": "http://host/x",
            "http://user:s3cret@host": "http://host",
            "http://user@host?of=3": "http://host",
            "http://user:p@ss@host:80/x/": "http://host:80/x/",
            "http://host/cart;jsessionid=1A2B3C/items;v=2/7;x": "http://host/cart/items/{}",
            "http://host/users/bob@example.com/orders": "http://host/users/{}/orders",
            "http://host/users/bob%40example.com": "http://host/users/{}",
            f"http://host/confirm/{token}": "http://host/confirm/{}",
            "http://host/keys/c2xvd3BhdGgtdHJhbnNmZXJz1": "http://host/keys/{}",
            "http://host/keys/9f8s7df98s7df98s7df9": "http://host/keys/{}",
            "/api/v2/customer-addresses-of-all-regions": "/api/v2/customer-addresses-of-all-regions",
            "http://host/api/getAllCustomersOfRegion": "http://host/api/getAllCustomersOfRegion",
            "com.acme.v2.shop.TicketClient.fetchAllOfThem": "com.acme.v2.shop.TicketClient.fetchAllOfThem",
            "http://host/acme.orders.v1.OrderService/GetOrder": "http://host/acme.orders.v1.OrderService/GetOrder",
            "http://host/api/getCustomerDetailsV2": "http://host/api/getCustomerDetailsV2",
            "http://host/api/convertV1ToV2Customers/": "http://host/api/convertV1ToV2Customers/",
            "http://host/users/+4917612345678/orders": "http://host/users/{}/orders",
            "http://host/users/%2B4917612345678": "http://host/users/{}",
            "http://host/v1/sk_live_abcdefghijklmnop/x": "http://host/v1/{}/x",
            "http://host/b/AKIAIOSFODNNEXAMPLEX": "http://host/b/{}",
            "http://host/locales/sk_SK": "http://host/locales/sk_SK",
            "http://host/keys/Zm9vYmFyLXNsb3dwYXRoX": "http://host/keys/{}",
            "http://host/keys/qx7mzkw3hhvtbp2nrcyl": "http://host/keys/{}",
            "http://host/+/": "http://host/+/",
            "http://host/orders/ORD-2024-000123": "http://host/orders/{}",
            "http://host/date/2024-05-01/departures": "http://host/date/{}/departures",
            "http://host/orders/1,2,3": "http://host/orders/{}",
            "http://host/sms/sha256-hashes": "http://host/sms/sha256-hashes",
            "http://host/v1.2/x": "http://host/v1.2/x",
            "http://host/api/key=sk_live_abcdefghijklm": "http://host/api/{}",
            "@://": "://",
            "bob@queue://orders": "queue://orders",
        }
        ran = subprocess.run(["java", "-cp", f"{AGENT}:{CLASSES}", "slowpath.transfers.Endpoints", *names], check=True,
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(dict(zip(names, ran.stdout.splitlines())), names)


class Queries(unittest.TestCase):
    """What a query does and with which tables; texts in it may be secret, comments say anything."""

    def test_queries(self):
        queries = {
            "select * from a join b.c using (id)": "SELECT a, b.c",
            'SELECT * FROM "My-Table"': "SELECT My-Table",
            "-- name: find-stations\nselect * from stations": "SELECT stations",
            "/* from the planner's\n list */ select * from stations": "SELECT stations",
            "select * from users where word = 'it''s from secret' and name = 'join me'": "SELECT users",
            "select extract(year from day), trim(both from name) from orders": "SELECT orders",
            "select * from orders where a is not distinct from b": "SELECT orders",
            "update stations set name = 'x' from lines returning *": "UPDATE lines",
            "select extract(epoch from age(t.day)), substring(upper(t.name) from 2) from t": "SELECT t",
            "select * from only a join lateral (select * from b) c on true": "SELECT a, b",
            # Of MySQL, of PostgreSQL; where a backslash is one, and where it is none.
            'select * from users where name = "take from Smith"': "SELECT users",
            "select $$ from secret $$, $a$ join $$ secret $a$ from users where id = $1": "SELECT users",
            r"select * from users where name = 'O\'Brien from secret'": "SELECT users",
            r"select * from users where name like 'a\' escape '\' and id in (select id from b)": "SELECT users, b",
            # What it changes counts.
            "with old as (delete from orders returning *) select * from old": "DELETE orders",
            "with old as (select * from orders) update users u set name = ''": "UPDATE orders",
            "with old as (select * from orders for update) select * from old": "WITH orders",
            # What it names is no table, but what it is made of may have the same name.
            "with a as (select * from x), b(n) as materialized (select * from A) select * from b join a on true": "WITH x",
            "with orders as (select * from orders where upper(state) = 'OPEN') select * from orders": "WITH orders",
            "with recursive t(n) as (select 1 union all select n + 1 from t) select * from t join tags on true": "WITH tags",
            'select * from (with "x y" as not materialized (select * from a) select * from "x y") c': "SELECT a",
            "with a as (select * from A), b as (with a as (select * from c) select * from a) select * from a, b": "WITH A, c",
            "with recursive a as (select * from x union select * from b), B as (select * from b) select * from b join a on true":
                "WITH x, b",
            "select * from x" + " union all select * from y join b on true" * 200: "SELECT x, y, b",
            "with a as (select * from x)" + " select * from a union" * 200 + " select * from y": "WITH x, y",
            # Of what is longer than 10,000 characters the beginning counts, without a name or a text that is cut.
            "select * from a where id in (" + "1, " * 10_000 + "2)": "SELECT a",
            "select * from a where word = '" + "taken from secret " * 1000 + "'": "SELECT a",
            'select * from a where word = "' + "taken from secret " * 1000 + '"': "SELECT a",
            "select * from a where word = $of$" + "taken from secret " * 1000 + "$of$": "SELECT a",
            "select * from a /* " + "taken from secret " * 1000 + "*/": "SELECT a",
            "select * from a" + " " * (10_000 - len("select * from a from stat")) + " from stations": "SELECT a",
            "insert into a values " + r"('it\'s taken from secret'), " * 1000: "INSERT ",
        }
        ran = subprocess.run(["java", "-cp", f"{AGENT}:{CLASSES}", "slowpath.transfers.Queries", *queries], check=True,
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(dict(zip(queries, ran.stdout.splitlines())), queries)

    def test_long_queries(self):
        """The application waits for it: what has more parts costs as much more, and what is very long no more. Factors are
        generous; where each part is compared with all others, eight times as many cost sixty times as much."""
        ran = subprocess.run(["java", "-cp", f"{AGENT}:{CLASSES}", "slowpath.transfers.LongQueries"], check=True,
                             capture_output=True, text=True, timeout=60)
        eight_times, thousand_times, kept, kept_characters = ran.stdout.split()
        self.assertLess(float(eight_times), 24)
        self.assertLess(float(thousand_times), 24)
        self.assertEqual(kept, "shortlong")
        self.assertLessEqual(int(kept_characters), 1_000_000)


class JsonB(unittest.TestCase):
    """Fields that its annotations keep JSON from filling: not those of which it only is not to write what they are."""

    def test_transient(self):
        ran = subprocess.run(["java", "-cp", f"{AGENT}:{CLASSES}", "slowpath.transfers.Shapes",
                              "slowpath.transfers.ByJsonB"], check=True, capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.stdout.splitlines(),
                         ["OnField.x false", "OnGetter.x true", "OnSetter.x false", "Plain.x true"])


class Sizes(unittest.TestCase):
    """Of what is long not all is measured, as the application waits for it."""

    def test_sizes(self):
        ran = subprocess.run(["java", "-cp", f"{AGENT}:{CLASSES}", "slowpath.transfers.Sizes"], check=True,
                             capture_output=True, text=True, timeout=60)
        names = sum(len(str(number)) for number in range(200_000))
        said = ran.stdout.splitlines()
        self.assertAlmostEqual(int(said.pop(3)), sum(len(str(number)) + 1 for number in range(1_000_000)), delta=10_000)
        self.assertEqual(said, [
            str(8 + 2 + 13_333_336), str(8 + 1 + 200_000 * 4), str(8 + 1 + 1000 * (2 + 1000 * 2)),
            str(8 + 1 + 800_000 * (8 + 2 + 4)), str(8 + 1 + 2 + 200_002 + 1 + 1000 * 2),
            str(8 + 1 + sum(1 + 1 + 2 * (1 + row // 10) for row in range(400))), str(4 + 10_000_000),
            str(100_000 * 6), str(6 + 5 + names + 200_000 * 6),
            str(8 + 1 + 3 * (1 + 31) + 1 + 12),
            *(str(8 + len(value)) for value in (
                "2026", '"text"', '"http://shop/1"', "17", "null", "1.5", "[]", "[[1,2],[3,4,5]]", '{"2026-01-02":5}',
                '"NaN"', "true", '"/tmp/x"', '"Europe/Berlin"', '"java.lang.String"', '"127.0.0.1"', '"AAAAAA=="', "5",
                "[1,2,3]", "{}", '"file:///tmp/x"', '"UTF-8"', '{"key":5}', '"2026-01-02T03:04:00"', '"03:04:05"',
                '"2026-01-02T03:04:05.678+01:00"', '"MONDAY"')),
            str(6 + 5), *[str(8 + 2)] * (1 + 4 + 3), *["4"] * 3,
            *(str(4 + length) for length in (4, 4, 36, 3, len("2026-01-02 03:04:05.0"), 0, 0, 0)),
            str(8 + 1 + 100_001), str(4 + 100_001 + 1), str(8 + 2 + 999_999 * (6 + 2)), "7000000 of 500"])


if __name__ == "__main__":
    unittest.main()
