// What clients are called: links of replicas are none, and Unix sockets have no address.
import { expect, test } from 'vitest';
import { nameOfClient } from './server-names';

test('clients and links of replicas', () => {
  expect(nameOfClient({ client: 7, address: '127.0.0.1', port: 4000 })).toBe('client 7 (127.0.0.1:4000)');
  expect(nameOfClient({ client: 8, address: '::1', port: 4001, is_replication: true })).toBe(
    'replication link 8 ([::1]:4001)',
  );
  expect(nameOfClient({ client: 9, address: '', port: 0, is_replication: false })).toBe('client 9');
});
