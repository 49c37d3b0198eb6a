// The store's rows: in their order, under the name of their server, and called as people know them.
import { describe, expect, test } from 'vitest';
import type {
  StoreClient,
  StoreRow,
  StoreRowList,
  StoreServer,
  StoreTables,
  Thread,
} from '../../model/interface';
import { partShown, partsToShow } from './parts';
import { nameOfClient } from './server-names';
import { storeMeaning } from './store-meaning';
import { storeLines } from './store-rows';
import { arrowsOfStore } from './use-store-arrows';
import { wordOperation } from './use-store-operations';

const server = (number: number, port: number) => ({ server: number, pid: 7, port }) as StoreServer;
const client = (of: number, number: number, total_ns: number) =>
  ({ server: of, client: number, address: '10.0.0.1', port: 40_000 + number, total_ns }) as StoreClient;
const row = (at: number, of: number, kind: StoreRow['kind'], number: number | null): StoreRow => ({
  row: at,
  server: of,
  kind,
  number,
});
const TOLD = {
  servers: [server(1, 6379), server(2, 0)],
  clients: [client(1, 5, 10), client(1, 6, 30), client(2, 5, 99)],
  findings: [],
  bus: [],
  hops: [],
} as unknown as StoreTables;

const TOLD_OF = (host?: string) =>
  ({ ...TOLD, servers: TOLD.servers.map((one) => (host ? { ...one, host } : one)) }) as StoreTables;

describe('rows', () => {
  test('stand below their server: event loop, threads, then connections with most time first', () => {
    const rows = [
      row(0, 1, 'event-loop', 7),
      row(1, 1, 'thread', 8),
      row(2, 1, 'connection', 5),
      row(3, 1, 'connection', 6),
      row(4, 2, 'event-loop', null),
    ];
    expect(storeLines(rows, TOLD).map(({ label }) => label)).toEqual([
      'Redis server 1 (process 7, port 6379)',
      'Event loop (thread 7)',
      'Thread 8',
      'client 6 (10.0.0.1:40006)',
      'client 5 (10.0.0.1:40005)',
      'Redis server 2 (process 7)',
      'Event loop',
    ]);
  });

  test('of a connection have below them what threads did to it; those that a finding is about come first', () => {
    const rows = [
      row(0, 1, 'connection', 5),
      row(1, 1, 'connection', 6),
      row(2, 1, 'connection-operations', 5),
      row(3, 1, 'connection-operations', 6),
    ];
    const shown = (told: StoreTables) => storeLines(rows, told).flatMap(({ shown }) => shown?.row ?? []);
    expect(shown(TOLD)).toEqual([1, 3, 0, 2]);
    const found = { ...TOLD, findings: [{ server: 1, client: 5 }] } as StoreTables;
    expect(shown(found)).toEqual([0, 2, 1, 3]);
  });

  test('have arrows between those that are shown', () => {
    const lines = storeLines([row(0, 1, 'event-loop', 7), row(1, 1, 'connection', 6)], TOLD);
    const arrow = (from_row: number, to_row: number) =>
      ({ kind: 'read', from_row, from_ns: 10, to_row, to_ns: 20 }) as const;
    const told = { arrows: [arrow(1, 0), arrow(9, 0)], complete: false };
    expect(arrowsOfStore(told, lines)).toEqual({
      arrows: [{ fromRow: 2, fromTime: 10, toRow: 1, toTime: 20 }],
      incomplete: true,
    });
  });

  test('of a thread that the kernel tells of too, that is the next one', () => {
    const threads = [
      { row: 40, host: 0, tid: 7, pid: 9, comm: 'other' },
      { row: 41, host: 1, tid: 7, pid: 7, comm: 'redis-server' },
    ] as Thread[];
    const shown = (host?: string) =>
      storeLines(
        [{ ...row(0, 1, 'event-loop', 7), ...(host && { host }) }],
        TOLD_OF(host),
        threads,
        (id) => `host-${id}`,
      )
        .filter(({ thread }) => thread)
        .map(({ key, label }) => [key, label]);
    const expected = [['thread 41', 'redis-server 7, by the kernel']];
    expect(shown()).toEqual(expected);
    expect(shown('host-1')).toEqual(expected);
    expect(shown('host-0')).toEqual([]);
  });

  test('a client without an address is called by its number', () => {
    expect(nameOfClient({ client: 3, address: '', port: 0 })).toBe('client 3');
    expect(nameOfClient({ client: 3, address: '::1', port: 9 })).toBe('client 3 ([::1]:9)');
  });
});

describe('values', () => {
  const list: StoreRowList = {
    rows: [],
    operations: ['reading', 'executing', 'writing'],
    structures: ['query-buffer', 'arguments', 'reply-buffer'],
    connection_operations: ['tls-read', 'freed'],
    commands: ['get', 'set'],
  };
  const [, loop, , connection] = storeLines(
    [row(0, 1, 'event-loop', 7), row(1, 1, 'thread', 8), row(2, 1, 'connection', 5)],
    TOLD,
  );

  test('mean another thing on a connection than on a thread', () => {
    const meaning = storeMeaning(list, 'light', false);
    expect(meaning.labelOf(loop!, 0)).toBe('Reading');
    expect(meaning.labelOf(connection!, 0)).toBe('Queued');
    expect(meaning.inkOf(loop!)(1)).toEqual(meaning.inkOf(connection!)(1));
    expect(meaning.inkOf(loop!)(0)).not.toEqual(meaning.inkOf(connection!)(0));
    expect(meaning.inkOf(loop!)(99).weight).toBe(0);
  });

  test('of what threads did to a connection are called as Redis calls them', () => {
    const meaning = storeMeaning(list, 'light', true);
    const [, done] = storeLines([row(0, 1, 'connection-operations', 5)], TOLD);
    expect(meaning.labelOf(done!, 1)).toBe('free_client');
    const read = { row: 0, at_ns: 1, operation: 'tls-read', tid: 8, asked: 16384 };
    expect(wordOperation({ ...read, got: 101 })).toBe('ssl_read 101\u202fB of 16\u202fKiB, thread 8');
    expect(wordOperation({ ...read, got: null })).toBe('ssl_read nothing of 16\u202fKiB, thread 8');
    const freed = { ...read, operation: 'freed', tid: null, asked: null, got: null };
    expect(wordOperation(freed)).toBe('free_client');
  });

  test('are commands on connections where these are wanted', () => {
    const meaning = storeMeaning(list, 'light', true);
    expect(meaning.wordsOf(connection!, 1)).toBe('set');
    expect(meaning.labelOf(loop!, 1)).toBe('Executing');
  });
});

describe('parts', () => {
  test('only those that have anything, what stands out first', () => {
    expect(partsToShow(TOLD)).toEqual(['commands', 'slowest', 'clients', 'servers']);
    const found = { ...TOLD, findings: [{}], bus: [{}] } as unknown as StoreTables;
    expect(partsToShow(found)[0]).toBe('findings');
    expect(partShown(undefined, found)).toBe('findings');
    expect(partShown('clients', found)).toBe('clients');
    expect(partShown('bus', TOLD)).toBe('commands');
    const rows = [row(0, 1, 'connection-operations', 5)];
    expect(partShown('operations', TOLD, rows)).toBe('operations');
    expect(partShown('operations', TOLD)).toBe('commands');
  });
});
