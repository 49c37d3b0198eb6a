// The rows of the store's time lines: of each server its event loop, its other threads, and connections, those whose
// commands took longest first. Pure.
import type { StoreRow, StoreTables } from '../../model/interface';
import type { GraphRow } from '../../parts/time-graph/graph-types';
import { keyOfServer, nameOfClient, nameOfServer } from './server-names';

export interface StoreLine extends GraphRow {
  /** Null for the name of a server. */
  shown: StoreRow | null;
}

export function storeLines(rows: readonly StoreRow[], told: StoreTables): StoreLine[] {
  const servers = new Map(told.servers.map((server) => [keyOfServer(server), server]));
  const clients = new Map(told.clients.map((client) => [`${keyOfServer(client)} ${client.client}`, client]));
  const clientOf = (row: StoreRow) => clients.get(`${keyOfServer(row)} ${row.number}`);
  const timeOf = (row: StoreRow) => (row.kind === 'connection' ? (clientOf(row)?.total_ns ?? 0) : 0);
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
    lines.push({ key: `server ${key}`, label, heading: true, height: 22, shown: null });
    // Event loop and threads stay first.
    const ordered = [...ofServer].sort(
      (one, other) =>
        Number(one.kind === 'connection') - Number(other.kind === 'connection') ||
        timeOf(other) - timeOf(one),
    );
    for (const row of ordered) {
      lines.push({ key: `row ${row.row}`, label: labelOf(row), depth: 1, passive: true, shown: row });
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
    }
  }
}
