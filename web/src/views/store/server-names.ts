// What servers and their clients are called, in headings, tables and rows alike; and keys that tell them apart,
// as their numbers count anew on each host. Pure.

interface OfServer {
  host?: string;
  server: number;
}

/** Of which server something is, where there are several: its number counts anew on each host. */
export function nameOfServer({ host, server }: OfServer): string {
  return host ? `${host} · server ${server}` : `server ${server}`;
}

export function keyOfServer({ host, server }: OfServer): string {
  return `${host ?? ''} ${server}`;
}

interface WithAddress {
  client: number;
  address: string;
  port: number;
  is_replication?: boolean;
}

/** Without an address it came through a Unix socket, or that was not told. */
export function nameOfClient({ client, address, port, is_replication }: WithAddress): string {
  const name = `${is_replication ? 'replication link' : 'client'} ${client}`;
  if (address === '' && port === 0) return name;
  const host = address.includes(':') ? `[${address}]` : address;
  return `${name} (${host}:${port})`;
}
