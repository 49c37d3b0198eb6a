// Every configuration that was tried, ranked as the command ranks them; those outside of the brush are left out.
// What is known of the selected one beyond its row: configuration-detail.tsx.
import { useMemo } from 'react';
import {
  sentenceOfStanding,
  withUnit,
  wordAgainst,
  wordNumber,
  wordStanding,
  wordTrials,
  wordValue,
} from '../../model/exploration-words';
import type { Exploration, ExplorationResults, TriedConfiguration } from '../../model/interface';
import { wordCount } from '../../model/wording';
import { DataTable, type DataColumn } from '../../parts/data-table/data-table';
import type { Choice } from './choice';

interface ConfigurationTableProps {
  explored: Exploration;
  choice: Choice;
  /** Places of those that a brush leaves. */
  within: ReadonlySet<number>;
}

interface PlacedRow {
  row: TriedConfiguration;
  place: number;
}

/** In pixels, as a table of data has them; with more rows it scrolls. */
const HEADS = 62;
const ROW = 26;
const MOST_ROWS = 12;

export function ConfigurationTable({ explored, choice, within }: ConfigurationTableProps) {
  const { results } = explored;
  const columns = useMemo(() => columnsOf(results), [results]);
  const rows = useMemo(
    () =>
      results.configurations.map((row, place) => ({ row, place })).filter(({ place }) => within.has(place)),
    [results, within],
  );
  const all = results.configurations.length;
  return (
    <div style={{ height: HEADS + ROW * Math.min(MOST_ROWS, Math.max(2, all)) }}>
      <DataTable<PlacedRow>
        name="Configurations"
        rows={rows}
        columns={columns}
        keyOf={({ place }) => String(place)}
        firstOrder={{ column: 'rank', direction: 'asc' }}
        selected={String(choice.place)}
        onSelect={({ place }) => choice.choose(place)}
        saveAs={`${results.name}-configurations`}
        heading={
          <h2>
            Configurations{' '}
            <span className="muted">
              {rows.length < all ? `${wordCount(rows.length)} of ${wordCount(all)} within the brush` : ''}
            </span>
          </h2>
        }
        empty="None lies within the brush"
      />
    </div>
  );
}

function columnsOf(results: ExplorationResults): DataColumn<PlacedRow>[] {
  const [first] = results.objectives;
  const best = first && results.configurations[0]?.metrics[first.metric]?.mean;
  return [
    { key: 'rank', title: '#', width: 40, align: 'right', value: ({ row }) => row.rank },
    ...results.parameters.map((name): DataColumn<PlacedRow> => ({
      key: `parameter ${name}`,
      title: name,
      grow: 2,
      align: 'right',
      value: ({ row }) => valueOf(row.configuration[name]),
      cell: ({ row }) => wordValue(row.configuration[name]),
    })),
    ...results.objectives.flatMap(({ metric, unit }): DataColumn<PlacedRow>[] => [
      {
        key: `metric ${metric}`,
        title: withUnit(metric, unit),
        grow: 3,
        align: 'right',
        value: ({ row }) => row.metrics[metric]?.mean ?? null,
        cell: ({ row }) => {
          const found = row.metrics[metric];
          return found ? wordNumber(found.mean) : '–';
        },
      },
      {
        key: `half ${metric}`,
        title: '±',
        width: 76,
        align: 'right',
        value: ({ row }) => row.metrics[metric]?.half_width ?? null,
        cell: ({ row }) => {
          const half = row.metrics[metric]?.half_width ?? null;
          return half === null ? '' : wordNumber(half);
        },
      },
    ]),
    { key: 'trials', title: 'Trials', width: 62, align: 'right', value: ({ row }) => wordTrials(row) },
    {
      key: 'against',
      title: 'Against the best',
      width: 140,
      align: 'right',
      value: ({ row }) => row.difference?.estimate ?? null,
      cell: ({ row }) => wordAgainst(row.difference, best),
    },
    {
      key: 'standing',
      title: 'Standing',
      grow: 2,
      value: ({ row }) => wordStanding(row),
      cell: ({ row }) => (
        <span className={`standing is-${row.standing}`} title={sentenceOfStanding(row, results.confidence)}>
          {wordStanding(row)}
          {results.objectives.length > 1 && row.is_on_front && (
            <span title="On the Pareto front: none is better in one objective and not worse in another">
              {' '}
              *
            </span>
          )}
        </span>
      ),
    },
  ];
}

function valueOf(value: string | number | boolean | undefined): string | number | null {
  return value === undefined ? null : typeof value === 'boolean' ? String(value) : value;
}
