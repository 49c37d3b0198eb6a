// The map of services: who stands left of whom, and that nothing overlaps.
import { describe, expect, test } from 'vitest';
import { columnsOf, layoutServiceMap } from './service-map';

/** "a>b b>c" as calls. */
const calls = (text: string) =>
  text.split(' ').map((call) => {
    const [caller = '', callee = ''] = call.split('>');
    return { caller, callee };
  });
const columns = (names: string, text: string) => {
  const found = columnsOf(names.split(''), calls(text));
  return names
    .split('')
    .map((name) => `${name}${found.get(name)}`)
    .join(' ');
};

describe('columns', () => {
  test('a callee stands behind the last of its callers', () => {
    expect(columns('abc', 'a>b b>c a>c')).toBe('a0 b1 c2');
    expect(columns('cba', 'a>b b>c a>c')).toBe('c2 b1 a0');
  });
  test('circles and services that call themselves are placed, too', () => {
    expect(columns('ab', 'a>b b>a')).toBe('a0 b1');
    expect(columns('abc', 'a>b b>c c>b')).toBe('a0 b1 c2');
    expect(columns('ab', 'a>a a>b')).toBe('a0 b1');
  });
  test('without calls all stand in one column', () => {
    expect(columns('abc', '')).toBe('a0 b0 c0');
  });
});

describe('the layout', () => {
  const text = 'a>b a>c a>d b>e c>e d>e e>a';
  const map = layoutServiceMap('abcde'.split(''), calls(text), 400);
  test('has every service once, and none upon another', () => {
    expect(map.nodes.map((node) => node.name).join('')).toBe('abcde');
    for (const one of map.nodes) {
      expect(one.x >= 0 && one.y >= 0 && one.x + one.width <= map.width).toBe(true);
      expect(one.y + one.height <= map.height).toBe(true);
      for (const other of map.nodes) {
        if (one === other) continue;
        const apart = Math.abs(one.x - other.x) >= one.width || Math.abs(one.y - other.y) >= one.height;
        expect(apart, `${one.name} and ${other.name}`).toBe(true);
      }
    }
  });
  test('has the calls between services that are shown, from one side to the other', () => {
    expect(map.edges).toHaveLength(7);
    const [first] = map.edges;
    const from = map.nodes[0]!;
    expect(first!.path.startsWith(`M${from.x + from.width},${from.y + from.height / 2} `)).toBe(true);
    expect(layoutServiceMap(['a', 'b'], calls(text), 400).edges).toHaveLength(1);
  });
});
