// Where the services of a map lie and how the calls between them run: columns from left to right, callers before
// whom they call, as far as calls do not lead in a circle. Pure; sizes are pixels.

export interface MapCall {
  caller: string;
  callee: string;
}

export interface MapNode {
  name: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface MapEdge<C> {
  call: C;
  /** As an SVG path has it. */
  path: string;
  /** Its head, likewise. */
  head: string;
  /** Where a label belongs. */
  x: number;
  y: number;
}

export interface ServiceMapLayout<C> {
  nodes: MapNode[];
  edges: MapEdge<C>[];
  width: number;
  height: number;
}

const NODE_WIDTH = 190;
const NODE_HEIGHT = 58;
const ROW = 86;
const EDGE = 130;
const AIR = 12;
const HEAD = 9;

/** Columns of services: 0 for those that nobody calls, else behind the last of their callers. */
export function columnsOf(names: readonly string[], calls: readonly MapCall[]): Map<string, number> {
  const columns = new Map<string, number>();
  const callees = new Map<string, string[]>();
  for (const { caller, callee } of calls) callees.set(caller, [...(callees.get(caller) ?? []), callee]);
  const above = new Set<string>();
  const place = (name: string, column: number) => {
    // A call back to somebody above closes a circle: it moves nobody.
    if (above.has(name) || (columns.get(name) ?? -1) >= column) return;
    columns.set(name, column);
    above.add(name);
    for (const callee of callees.get(name) ?? []) place(callee, column + 1);
    above.delete(name);
  };
  const called = new Set(calls.filter((call) => call.caller !== call.callee).map((call) => call.callee));
  for (const name of names) if (!called.has(name)) place(name, 0);
  for (const name of names) if (!columns.has(name)) place(name, 0);
  return columns;
}

export function layoutServiceMap<C extends MapCall>(
  names: readonly string[],
  calls: readonly C[],
  roomWidth: number,
): ServiceMapLayout<C> {
  const known = new Set(names);
  const shown = calls.filter(({ caller, callee }) => known.has(caller) && known.has(callee));
  const columns = columnsOf(names, shown);
  const count = Math.max(1, ...[...columns.values()].map((column) => column + 1));
  const members: string[][] = Array.from({ length: count }, () => []);
  for (const name of names) members[columns.get(name)!]!.push(name);
  // In each column those first whose callers are: few calls cross then.
  const place = new Map<string, number>();
  for (const column of members) {
    const wish = new Map(
      column.map((name, index) => {
        const callers = shown
          .filter((call) => call.callee === name && place.has(call.caller))
          .map((call) => place.get(call.caller)!);
        return [name, callers.length ? callers.reduce((a, b) => a + b, 0) / callers.length : index];
      }),
    );
    column.sort((one, other) => wish.get(one)! - wish.get(other)!);
    column.forEach((name, index) => place.set(name, index - (column.length - 1) / 2));
  }
  const rows = Math.max(...members.map((column) => column.length));
  const height = (rows + 1) * ROW;
  const least = count * NODE_WIDTH + (count - 1) * EDGE + 2 * AIR;
  const width = Math.max(least, roomWidth);
  const step =
    count > 1 ? Math.min(NODE_WIDTH + 1.6 * EDGE, (width - 2 * AIR - NODE_WIDTH) / (count - 1)) : 0;
  const left = (width - (count - 1) * step - NODE_WIDTH) / 2;
  const nodes = names.map((name) => ({
    name,
    x: left + columns.get(name)! * step,
    y: height / 2 + place.get(name)! * ROW - NODE_HEIGHT / 2,
    width: NODE_WIDTH,
    height: NODE_HEIGHT,
  }));
  const nodeOf = new Map(nodes.map((node) => [node.name, node]));
  return {
    nodes,
    edges: shown.map((call) => {
      const skipped = columns.get(call.callee)! - columns.get(call.caller)! > 1;
      return edgeOf(call, nodeOf.get(call.caller)!, nodeOf.get(call.callee)!, skipped);
    }),
    width,
    height,
  };
}

/** `skips`: it passes by other columns, below their boxes. */
function edgeOf<C>(call: C, from: MapNode, to: MapNode, skips: boolean): MapEdge<C> {
  const fromX = from.x + from.width;
  const fromY = from.y + from.height / 2;
  const toY = to.y + to.height / 2;
  const forwards = to.x > from.x;
  // Calls backwards, or to a service above or below, leave and arrive on the same side in a wide bow.
  const toX = forwards ? to.x : to.x + to.width;
  const bow = forwards ? (toX - fromX) / 2 : Math.max(50, (fromX - toX) / 3);
  const [outX, inX] = forwards ? [fromX + bow, toX - bow] : [fromX + bow, toX + bow];
  const [outY, inY] = skips ? [Math.max(fromY, toY) + ROW, Math.max(fromY, toY) + ROW] : [fromY, toY];
  return {
    call,
    path: `M${fromX},${fromY} C${outX},${outY} ${inX},${inY} ${toX},${toY}`,
    head: `M${toX},${toY} l${forwards ? -HEAD : HEAD},${-HEAD / 2} v${HEAD} z`,
    x: (fromX + 3 * outX + 3 * inX + toX) / 8,
    y: (fromY + 3 * outY + 3 * inY + toY) / 8,
  };
}
