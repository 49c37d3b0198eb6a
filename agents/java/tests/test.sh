#!/bin/sh
# The agent in real programs: what they did with remote objects is what its report says, and a program that it
# cannot serve goes on without it. See test_transfers.py.
. "$(dirname "$0")/../../tests-begin.sh"
python3 tests/test_transfers.py
python3 tests/test_options.py
python3 tests/test_estimates.py
python3 tests/test_parameters.py
python3 tests/test_families.py
python3 tests/test_chosen.py
python3 tests/test_call_paths.py
python3 tests/test_soak.py
