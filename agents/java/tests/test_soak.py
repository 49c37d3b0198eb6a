"""soak.py in short: a server is redeployed two hundred times; what was thrown away is gone, and what the agent says is what
the server did. Whether memory grows, takes longer to tell (make soak)."""
import tempfile
import time
import unittest

import soak


class Redeployed(unittest.TestCase):
    def test_each_mode(self):
        modes = {mode: how for mode, how in soak.modes_here().items() if mode in ("mask", "attached")}
        end = time.monotonic() + 120

        def is_enough(one):
            return one.deployed() >= 200 and one.has_samples() or time.monotonic() > end
        with tempfile.TemporaryDirectory() as folder:
            for one in soak.run(folder, modes, is_enough):
                with self.subTest(one.name):
                    self.assertEqual(one.faults, [])
                    self.assertGreaterEqual(one.deployed(), 200)


if __name__ == "__main__":
    unittest.main()
