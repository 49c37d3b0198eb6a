"""Reads the golden memory by docs/formats/probes.md alone, independently of the C reader: byte offsets, words, nodes, counts.

It takes nothing and shares nothing, so it needs no atomics. Compares with what the C reader finds. Run by tests/test.sh.
"""

import json
import os
import struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
TYPES = ["CNT", "LAT", "TPT", "LLC", "FLT", "CTXSW", "PERFCNTR", "SNAPSHOT"]

with open(os.path.join(HERE, "memory-v1.bin"), "rb") as file:
    memory = file.read()
with open(os.path.join(HERE, "memory-v1.jsonl"), encoding="utf-8") as file:
    expected_counts, *expected = map(json.loads, file)


def number(byte, size):
    return struct.unpack_from({1: "<B", 2: "<H", 4: "<I", 8: "<Q"}[size], memory, byte)[0]


def text(byte, size):
    return memory[byte : byte + size].split(b"\0")[0].decode()


assert memory[:8] == b"SLPROBES" and number(8, 4) == 1 and number(16, 8) == len(memory)
processors, types, slots, capacity = (number(byte, 4) for byte in (28, 32, 36, 40))
probes_offset, queues_offset, queue_stride, nodes_offset, node_stride = (number(byte, 8) for byte in (48, 56, 64, 72, 80))
assert number(88, 4) == 1 and text(112, 64) == "golden" and number(208 + 3 * 4, 4) == 2

names = {}
for entry in range(probes_offset, probes_offset + capacity * 64, 64):
    key = number(entry, 4)
    if key == 0:
        break
    names[key >> 16 & 0x7FFF, key & 0xFFFF] = text(entry + 16, 48)

found, counts = [], {"stored": 0, "read": 0, "waiting": 0, "lost": 0}
for queue in range(processors * types):
    base, waiting = queues_offset + queue * queue_stride, []
    for slot in range(slots):
        word = number(base + 128 + 8 * slot, 8)
        node = nodes_offset + ((word & 0xFFFFFF) ^ (queue * slots + slot)) * node_stride
        published, full, lost = word >> 25, word >> 24 & 1, number(node, 8)
        counts["stored"] += published
        counts["waiting"] += full
        counts["lost"] += lost
        counts["read"] += published - full - lost
        if full:
            waiting.append(((published - 1) * slots + slot, node))
    for _ticket, node in sorted(waiting):
        bit = number(node + 20, 4)
        type, id = bit.bit_length() - 1, number(node + 24, 2)
        assert 1 << type == bit and type == queue // processors and number(node + 26, 2) == queue % processors
        fields = [number(node + 32 + 8 * field, 8) for field in range(number(node + 28, 1))]
        # The clock is CLOCK_MONOTONIC: ticks are nanoseconds.
        found.append((number(node + 8, 8), number(node + 16, 4), TYPES[type], id, names[type, id], fields))

values = lambda record: record["values"] if isinstance(record["values"], list) else list(record["values"].values())  # noqa: E731
wanted = [(r["timestamp_ns"], r["thread"], r["type"], r["probe"], r["name"], values(r)) for r in expected]
assert found == wanted, (found, wanted)
assert {**counts, "refused": number(240, 8), "probes_refused": number(260, 4)} == expected_counts, counts
print("the format as described: 1 passed, 0 failed")
