// The rows of the store's time lines: of each server its event loop and its other threads, each with what the kernel
// tells of the same thread, and connections, those first that a finding is about, then those whose commands took longest;
// below them what threads did to them. Pure.
import type { StoreRow, StoreTables, Thread } from '../../model/interface';
import type { GraphRow } from '../../parts/time-graph/graph-types';
import { keyOfServer, nameOfClient, nameOfServer } from './server-names';

export interface StoreLine extends GraphRow {
  /** Null for the name of a server, and for what the kernel tells. */
  shown: StoreRow | null;
  thread: Thread | null;
}

export function storeLines(
  rows: readonly StoreRow[],
  told: StoreTables,
  threads: readonly Thread[] = [],
  hostName: (host: number) => string = String,
): StoreLine[] {
  const servers = new Map(told.servers.map((server) => [keyOfServer(server), server]));
  const clients = new Map(told.clients.map((client) => [`${keyOfServer(client)} ${client.client}`, client]));
  const clientOf = (row: StoreRow) => clients.get(`${keyOfServer(row)} ${row.number}`);
  const timeOf = (row: StoreRow) => (isOfConnection(row) ? (clientOf(row)?.total_ns ?? 0) : 0);
  const found = new Set(told.findings.map((finding) => `${keyOfServer(finding)} ${finding.client}`));
  const isFound = (row: StoreRow) => isOfConnection(row) && found.has(`${keyOfServer(row)} ${row.number}`);
  const lines: StoreLine[] = [];
  const ofServers = new Map<string, StoreRow[]>();
  for (const row of rows) {
    const key = keyOfServer(row);
    ofServers.set(key, [...(ofServers.get(key) ?? []), row]);
  }
  for (const [key, ofServer] of ofServers) {
    const server = servers.get(key);
    const port = server?.port ? `, port ${server.port}` : '';
    const label = `Redis ${nameOfServer(ofServer[0]!)}${server?.pid ? ` (process ${server.pid}${port})` : port}`;
    lines.push({ key: `server ${key}`, label, heading: true, height: 22, shown: null, thread: null });
    // Event loop and threads stay first.
    const ordered = [...ofServer].sort(
      (one, other) =>
        Number(isOfConnection(one)) - Number(isOfConnection(other)) ||
        Number(isFound(other)) - Number(isFound(one)) ||
        timeOf(other) - timeOf(one) ||
        // What is done to a connection stands below it.
        (isOfConnection(one) ? (one.number ?? 0) - (other.number ?? 0) : 0),
    );
    for (const row of ordered) {
      lines.push({
        key: `row ${row.row}`,
        label: labelOf(row),
        depth: row.kind === 'connection-operations' ? 2 : 1,
        passive: true,
        shown: row,
        thread: null,
      });
      // A server in a container has other numbers than the kernel's: then nothing is known of it.
      const isIt = ({ host, tid, pid }: Thread) =>
        tid === row.number && pid === server?.pid && (row.host === undefined || hostName(host) === row.host);
      const thread = isOfConnection(row) ? undefined : threads.find(isIt);
      if (thread) {
        const label = `${thread.comm || 'thread'} ${thread.tid}, by the kernel`;
        lines.push({ key: `thread ${thread.row}`, label, depth: 2, passive: true, shown: null, thread });
      }
    }
  }
  return lines;

  function labelOf(row: StoreRow): string {
    switch (row.kind) {
      case 'event-loop':
        return row.number === null ? 'Event loop' : `Event loop (thread ${row.number})`;
      case 'thread':
        return `Thread ${row.number}`;
      case 'connection': {
        const client = clientOf(row);
        return client ? nameOfClient(client) : `client ${row.number}`;
      }
      case 'connection-operations':
        return 'what threads did to it';
    }
  }
}

function isOfConnection({ kind }: StoreRow): boolean {
  return kind === 'connection' || kind === 'connection-operations';
}
