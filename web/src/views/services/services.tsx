// Services, from spans: the map of who calls whom; or their calling contexts, as the ranking table, the icicle,
// and the plot of exclusive against inclusive time. Selecting a context selects it in all three.
import { useMemo, useState } from 'react';
import { useAnswer } from '../../model/answers';
import type { CallingContext, ServicesReport } from '../../model/interface';
import { addressOf, adjust, go, usePlace } from '../../model/place-store';
import { useRecording } from '../../model/recording';
import { wordCount, wordDuration } from '../../model/wording';
import { BarCell, DataTable, type DataColumn } from '../../parts/data-table/data-table';
import { Answered, EmptyNotice } from '../../parts/notices';
import { ContextIcicle, type IcicleMeasure } from './context-icicle';
import { ContextScatter } from './context-scatter';
import { wordLeftOut } from './left-out';
import { ServiceMap } from './service-map';
import { ServiceTables } from './service-tables';

export function Services() {
  const { span_files: spanFiles } = useRecording();
  const { filters } = usePlace();
  const answer = useAnswer<ServicesReport>(spanFiles === 0 ? null : { path: '/api/services' });
  if (spanFiles === 0) return <NoServices />;
  return (
    <Answered answer={answer}>
      {(report) => {
        const { paths, map } = report;
        if (paths.length === 0) return <NoServices />;
        // A link to a context means the contexts.
        const shown = filters.show === 'contexts' || filters.context ? 'contexts' : 'map';
        return (
          <div className="view-column">
            <div className="tool-bar">
              <span className="choice" role="group" aria-label="What is shown of services">
                {(['map', 'contexts'] as const).map((name) => (
                  <button
                    key={name}
                    type="button"
                    aria-pressed={shown === name}
                    onClick={() => go({ filters: { show: name === 'map' ? null : name, context: null } })}
                  >
                    {name === 'map' ? 'Map' : 'Calling contexts'}
                  </button>
                ))}
              </span>
              <span className="muted">{wordLeftOut(report)}</span>
            </div>
            <div className="view-rest">
              {shown === 'map' ? <MapAndTables map={map} /> : <Contexts contexts={paths} />}
            </div>
          </div>
        );
      }}
    </Answered>
  );
}

function MapAndTables({ map }: { map: ServicesReport['map'] }) {
  return (
    <div className="services is-map">
      <section className="panel" aria-label="Map of services">
        <ServiceMap map={map} />
      </section>
      <section className="panel" aria-label="Services and calls in words">
        <ServiceTables map={map} />
      </section>
    </div>
  );
}

function NoServices() {
  return (
    <EmptyNotice title="No services in this recording">
      Services come from files of spans (OTLP or Jaeger): record what the applications send, or open such a
      file together with the trace.
    </EmptyNotice>
  );
}

export function keyOfContext(context: { path: readonly string[] }): string {
  return context.path.join(' > ');
}

/** "service[operation]" apart. */
export function partsOfCall(call: string): { service: string; operation: string } {
  const match = /^(.*?)\[(.*)\]$/s.exec(call);
  return match ? { service: match[1]!, operation: match[2]! } : { service: call, operation: '' };
}

function Contexts({ contexts }: { contexts: CallingContext[] }) {
  const { filters } = usePlace();
  const selected = filters.context ?? null;
  const select = (key: string | null) => adjust({ filters: { context: key } });
  const [measure, setMeasure] = useState<IcicleMeasure>('inclusive');
  const columns = useMemo<DataColumn<CallingContext>[]>(() => {
    const largest = {
      inclusive: Math.max(1, ...contexts.map((row) => row.inclusive)),
      exclusive: Math.max(1, ...contexts.map((row) => row.exclusive)),
      critical: Math.max(1, ...contexts.map((row) => row.critical)),
    };
    const bar = (key: keyof typeof largest, title: string, value: (row: CallingContext) => number) => ({
      key,
      title,
      width: 112,
      align: 'right' as const,
      value,
      cell: (row: CallingContext) => (
        <BarCell share={value(row) / largest[key]}>{wordDuration(value(row))}</BarCell>
      ),
    });
    const time = (key: string, title: string, value: (row: CallingContext) => number | null) => ({
      key,
      title,
      width: 84,
      align: 'right' as const,
      value,
      cell: (row: CallingContext) => {
        const told = value(row);
        return told === null ? '' : wordDuration(told);
      },
    });
    return [
      { key: 'rank', title: '#', width: 36, align: 'right', value: (row) => row.rank },
      {
        key: 'call',
        title: 'Calling context',
        grow: 3,
        value: (row) => row.path.join(' › '),
        cell: (row) => <ContextName context={row} />,
      },
      {
        key: 'count',
        title: 'Calls',
        width: 76,
        align: 'right',
        value: (row) => row.count,
        cell: (row) => wordCount(row.count),
      },
      bar('inclusive', 'Inclusive', (row) => row.inclusive),
      bar('exclusive', 'Exclusive', (row) => row.exclusive),
      bar('critical', 'Critical', (row) => row.critical),
      time('drag', 'Drag', (row) => row.drag),
      time('p50', 'p50', (row) => row.inclusive_p50),
      time('p99', 'p99', (row) => row.inclusive_p99),
    ];
  }, [contexts]);
  return (
    <div className="services">
      <section className="panel services-icicle" aria-label="Icicle of calling contexts">
        <div className="panel-head">
          <h2>Who calls whom</h2>
          <span className="choice is-small" role="group" aria-label="Width of a box">
            {(['inclusive', 'critical'] as const).map((name) => (
              <button
                key={name}
                type="button"
                aria-pressed={measure === name}
                onClick={() => setMeasure(name)}
              >
                {name === 'inclusive' ? 'inclusive time' : 'time on the critical path'}
              </button>
            ))}
          </span>
        </div>
        <ContextIcicle contexts={contexts} measure={measure} selected={selected} onSelect={select} />
      </section>
      <section className="panel services-scatter" aria-label="Exclusive and inclusive time">
        <div className="panel-head">
          <h2>Exclusive and inclusive time</h2>
          <span className="muted">far from the origin: worth a look</span>
        </div>
        <ContextScatter contexts={contexts} selected={selected} onSelect={select} />
      </section>
      <section className="panel services-table" aria-label="Ranking of calling contexts">
        <DataTable
          name="Calling contexts"
          rows={contexts}
          columns={columns}
          keyOf={keyOfContext}
          firstOrder={{ column: 'rank', direction: 'asc' }}
          selected={selected}
          onSelect={(row) => select(keyOfContext(row))}
          saveAs="services"
          heading={<h2>Ranking by distance from the origin</h2>}
        />
      </section>
    </div>
  );
}

function ContextName({ context }: { context: CallingContext }) {
  const last = partsOfCall(context.path[context.path.length - 1] ?? '');
  const callers = context.path
    .slice(0, -1)
    .map((call) => partsOfCall(call).service)
    .join(' › ');
  return (
    <span title={context.path.join(' › ')}>
      <a
        href={addressOf({
          view: 'requests',
          request: null,
          filters: { service: last.service, operation: last.operation },
        })}
        title="Show its requests"
        onClick={(event) => event.stopPropagation()}
      >
        {last.operation || last.service}
      </a>{' '}
      {last.operation && last.service} {callers && <span className="muted">from {callers}</span>}
    </span>
  );
}
