// Two groups of requests side by side: what state, in which thread, costs the one more than the other. The
// groups are bands of percentiles of one operation, or the requests marked in the list.
import { useState } from 'react';
import { useAnswer, type Answer } from '../../model/answers';
import type { Comparison, Operation, RequestGroup } from '../../model/interface';
import { operationFilter, operationName, operationTitle } from '../../model/operations';
import { go, usePlace } from '../../model/place-store';
import { wordCount, wordDuration, wordNumberOf } from '../../model/wording';
import { DataTable, type DataColumn } from '../../parts/data-table/data-table';
import { Answered, EmptyNotice } from '../../parts/notices';
import { StateName } from '../../parts/state-bar';
import { STATE_WORDS } from '../../model/wording';

const BANDS: [string, [number, number]][] = [
  ['fastest half', [0, 50]],
  ['percentiles 50–90', [50, 90]],
  ['slowest tenth', [90, 100]],
  ['slowest hundredth', [99, 100]],
  ['all', [0, 100]],
];
const MARKED = -1;

interface ComparePanelProps {
  operations: Answer<{ operations: Operation[] }>;
  marked: ReadonlySet<number>;
}

export function ComparePanel({ operations, marked }: ComparePanelProps) {
  return (
    <section className="compare-panel" aria-label="Comparison">
      <Answered answer={operations}>
        {(value) =>
          value.operations.length === 0 ? (
            <EmptyNotice title="No requests to compare" />
          ) : (
            <Groups operations={value.operations} marked={marked} />
          )
        }
      </Answered>
    </section>
  );
}

function Groups({ operations, marked }: { operations: Operation[]; marked: ReadonlySet<number> }) {
  const { filters } = usePlace();
  const found = operations.findIndex(
    (one) => operationName(one) === filters.operation && one.service === (filters.service ?? ''),
  );
  const [chosen, setChosen] = useState(Math.max(0, found));
  const [one, setOne] = useState(marked.size > 0 ? MARKED : 2);
  const [other, setOther] = useState(0);
  const operation = operations[chosen] ?? operations[0]!;
  const groupOf = (index: number): RequestGroup | null => {
    if (index === MARKED) return marked.size > 0 ? { requests: [...marked] } : null;
    return {
      percentiles: BANDS[index]![1],
      ...operationFilter(operation),
    };
  };
  const first = groupOf(one);
  const second = groupOf(other);
  const answer = useAnswer<Comparison>(
    first && second ? { path: '/api/compare', body: { one: first, other: second } } : null,
  );
  const choice = (label: string, value: number, set: (value: number) => void) => (
    <select aria-label={label} value={value} onChange={(event) => set(Number(event.target.value))}>
      {BANDS.map(([title], index) => (
        <option key={title} value={index}>
          {title}
        </option>
      ))}
      <option value={MARKED} disabled={marked.size === 0}>
        {marked.size > 0 ? `${wordCount(marked.size)} marked` : 'marked in the list'}
      </option>
    </select>
  );
  return (
    <>
      <div className="tool-bar">
        <select
          aria-label="Operation of the bands"
          value={chosen}
          onChange={(event) => setChosen(Number(event.target.value))}
        >
          {operations.map((candidate, index) => (
            <option key={index} value={index}>
              {operationTitle(candidate)}
            </option>
          ))}
        </select>
        {choice('First group', one, setOne)}
        <span>against</span>
        {choice('Second group', other, setOther)}
        <span className="spacer" />
        <button
          type="button"
          className="quiet-button"
          aria-label="Close the comparison"
          onClick={() => go({ filters: { compare: null } })}
        >
          ✕
        </button>
      </div>
      <div className="view-rest">
        {first && second ? (
          <Answered answer={answer}>{(value) => <Differences comparison={value} />}</Answered>
        ) : (
          <EmptyNotice title="No request is marked">
            Mark requests in the list's first column, or choose bands of percentiles.
          </EmptyNotice>
        )}
      </div>
    </>
  );
}

/** Whose durations are compared; marked requests may be of unknown duration, bands have none of these. */
const wordGroup = ({ count, in_part }: Comparison['one']) =>
  wordNumberOf(count, 'request') + (in_part > 0 ? ` (and ${wordCount(in_part)} of unknown duration)` : '');

type Difference = Comparison['differences'][number];

/** How much more the first group took: of what makes it slow, more than nothing. */
const firstMore = (row: Difference) => row.one_ns - row.other_ns;

function Differences({ comparison }: { comparison: Comparison }) {
  const { one, other, differences } = comparison;
  if (one.count === 0 || other.count === 0) {
    return (
      <EmptyNotice title={`No request is in the ${one.count === 0 ? 'first' : 'second'} group`}>
        {(one.count === 0 ? one : other).in_part > 0
          ? 'How long the marked requests took is not known: their start or end is not recorded.'
          : 'The operation has too few for it; those whose start or end is not recorded are in no group.'}
      </EmptyNotice>
    );
  }
  const largest = Math.max(1, ...differences.map((row) => Math.abs(firstMore(row))));
  const columns: DataColumn<Difference>[] = [
    {
      key: 'state',
      title: 'State',
      width: 170,
      value: (row) => STATE_WORDS[row.state].title,
      cell: (row) => <StateName state={row.state} />,
    },
    { key: 'comm', title: 'Threads named', width: 150, value: (row) => row.comm },
    { key: 'detail', title: 'Detail', grow: 2, value: (row) => row.detail },
    {
      key: 'one',
      title: 'First',
      width: 90,
      align: 'right',
      value: (row) => row.one_ns,
      cell: (row) => wordDuration(row.one_ns),
    },
    {
      key: 'other',
      title: 'Second',
      width: 90,
      align: 'right',
      value: (row) => row.other_ns,
      cell: (row) => wordDuration(row.other_ns),
    },
    {
      key: 'difference',
      title: 'Difference',
      width: 280,
      value: firstMore,
      cell: (row) => <DifferenceBar value={firstMore(row)} largest={largest} />,
    },
  ];
  return (
    <DataTable
      name="Differences, mean per request"
      rows={differences}
      columns={columns}
      keyOf={(row) => `${row.state} ${row.comm} ${row.detail}`}
      saveAs="comparison"
      heading={
        <>
          <strong>{wordDuration(one.mean_ns)}</strong> on average in {wordGroup(one)}, against{' '}
          <strong>{wordDuration(other.mean_ns)}</strong> in {wordGroup(other)}: a difference of{' '}
          <strong>{wordDuration(one.mean_ns - other.mean_ns)}</strong> per request
        </>
      }
      empty="The groups do not differ"
    />
  );
}

function DifferenceBar({ value, largest }: { value: number; largest: number }) {
  const share = (Math.abs(value) / largest) * 50;
  return (
    <span className="difference">
      <span className="difference-number">
        {value > 0 ? '+' : ''}
        {wordDuration(value)}
      </span>
      <span className="difference-track">
        <span
          className={value > 0 ? 'difference-more' : 'difference-less'}
          style={{ width: `${share}%`, [value > 0 ? 'left' : 'right']: '50%' }}
        />
      </span>
    </span>
  );
}
