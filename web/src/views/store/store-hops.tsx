// Published messages between the nodes of a cluster, by who sent and who got them: how long they took from node to
// node, and from there on to subscribers. One by one, the time lines have them as arrows.
import { useMemo } from 'react';
import type { StoreHops as Hops } from '../../model/interface';
import { useSharedRange } from '../../model/recording';
import { withMargin } from '../../draw/time-scale';
import { wordBytes, wordCount, wordDuration } from '../../model/wording';
import { DataTable, type DataColumn } from '../../parts/data-table/data-table';
import { PlaceLink } from '../../parts/place-link';
import { keyOfServer, nameOfServer } from './server-names';

interface OfHost {
  host?: string;
}

export function StoreHops({ rows }: { rows: readonly (Hops & OfHost)[] }) {
  const { bounds } = useSharedRange();
  const columns = useMemo<DataColumn<Hops & OfHost>[]>(() => {
    const column = (
      key: keyof Hops,
      title: string,
      word: (value: number) => string,
      width = 90,
    ): DataColumn<Hops & OfHost> => ({
      key,
      title,
      width,
      align: 'right',
      value: (row) => row[key] ?? 0,
      cell: (row) => word(row[key] ?? 0),
    });
    const handedOn = (key: 'delivery_p50_ns' | 'delivery_max_ns', title: string) => ({
      ...column(key, title, wordDuration, 150),
      cell: (row: Hops) => (row.delivered > 0 ? wordDuration(row[key]) : 'not told'),
    });
    return [
      { key: 'from', title: 'From', grow: 1, value: nameOfServer },
      {
        key: 'to',
        title: 'To',
        grow: 1,
        value: ({ host, to_server: server }) => nameOfServer({ host, server }),
      },
      column('messages', 'Messages', wordCount),
      column('bytes', 'Bytes', wordBytes),
      column('mean_ns', 'On the way: mean', wordDuration, 130),
      column('p50_ns', 'p50', wordDuration),
      column('p99_ns', 'p99', wordDuration),
      {
        ...column('max_ns', 'Longest', wordDuration, 110),
        cell: ({ longest_begin_ns: begin, max_ns: length }) =>
          begin === null ? (
            ''
          ) : (
            <PlaceLink
              to={{ range: withMargin({ begin, end: begin + length }, 0.5, bounds), at: begin }}
              title="Show it on the time lines"
            >
              {wordDuration(length)}
            </PlaceLink>
          ),
      },
      column('delivered', 'To subscribers', wordCount, 110),
      handedOn('delivery_p50_ns', 'Read to written: p50'),
      handedOn('delivery_max_ns', 'Longest'),
    ];
  }, [bounds]);
  return (
    <DataTable
      name="Published messages between nodes"
      rows={rows}
      columns={columns}
      keyOf={(row) => `${keyOfServer(row)} ${row.to_server}`}
      saveAs="store-hops"
      heading={<h2>Published messages between nodes</h2>}
    />
  );
}
