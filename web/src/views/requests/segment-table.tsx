// A critical path as a table: the textual form of its picture.
// Selecting a row selects its time.
import { useMemo } from 'react';
import type { Path, PathSegment } from '../../model/interface';
import { adjust, usePlace } from '../../model/place-store';
import { useHostName, useRecording } from '../../model/recording';
import { STATE_WORDS, wordDuration, wordTime } from '../../model/wording';
import { DataTable, type DataColumn } from '../../parts/data-table/data-table';
import { StateName } from '../../parts/state-bar';
import { segmentAt } from './path-rows';

export function SegmentTable({ path, name }: { path: Path; name: string }) {
  const { at } = usePlace();
  const { hosts } = useRecording();
  const hostName = useHostName();
  const columns = useMemo<DataColumn<PathSegment>[]>(
    () => [
      {
        key: 'begin',
        title: 'Begin',
        width: 150,
        align: 'right',
        value: (segment) => segment.begin_ns,
        cell: (segment) => wordTime(segment.begin_ns, 1),
      },
      {
        key: 'duration',
        title: 'Duration',
        width: 90,
        align: 'right',
        value: (segment) => segment.end_ns - segment.begin_ns,
        cell: (segment) => wordDuration(segment.end_ns - segment.begin_ns),
      },
      {
        key: 'state',
        title: 'State',
        width: 170,
        value: (segment) => STATE_WORDS[segment.state].title,
        cell: (segment) => <StateName state={segment.state} />,
      },
      {
        key: 'thread',
        title: 'Thread',
        grow: 1,
        value: (segment) => `${segment.comm || 'unnamed'} (${segment.tid})`,
      },
      ...(hosts.length > 1
        ? [
            {
              key: 'host',
              title: 'Host',
              width: 110,
              value: (segment: PathSegment) => hostName(segment.host),
            },
          ]
        : []),
      { key: 'detail', title: 'Detail', grow: 2, value: (segment) => segment.detail },
    ],
    [hosts, hostName],
  );
  const selected = at === null ? null : segmentAt(path, at);
  return (
    <DataTable
      name="Segments of the critical path"
      rows={path.segments}
      columns={columns}
      keyOf={(segment) => `${segment.begin_ns} ${segment.tid} ${segment.end_ns}`}
      selected={selected ? `${selected.begin_ns} ${selected.tid} ${selected.end_ns}` : null}
      onSelect={(segment) => adjust({ at: segment.begin_ns })}
      heading={`${path.segments.length} segments`}
      saveAs={name}
    />
  );
}
