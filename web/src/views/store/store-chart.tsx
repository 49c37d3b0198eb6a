// Servers over the shown time, in line with the time lines below: how busy their event loops were, or what clients
// and the cluster's bus carried (dashed: read from clients; dotted: the bus). Which of both, the address says.
import { useMemo, useRef } from 'react';
import { cssColour, identityColour } from '../../draw/colours';
import { span } from '../../draw/time-scale';
import { useAnswer } from '../../model/answers';
import type { StoreOverTime, StoresOverTime } from '../../model/interface';
import { adjust, usePlace } from '../../model/place-store';
import { wordBytes, wordShare } from '../../model/wording';
import { ErrorNotice, jobTitle } from '../../parts/notices';
import { SaveButtons } from '../../parts/save-buttons';
import { saveCanvasesOf } from '../../parts/save-element';
import { saveText } from '../../parts/save-file';
import { useTheme } from '../../parts/theme';
import { TimeChart, type ChartLine } from '../../parts/time-chart';
import { csvOfParts, useChartQuestion, type ChartPlace } from '../threads/usage-chart';
import { nameOfServer } from './server-names';

const HEIGHT = 72;
const DASHED = [4, 3];
const DOTTED = [1, 3];
const NO_SERVERS: StoreOverTime[] = [];

export function StoreChart(place: ChartPlace) {
  const { range, question } = useChartQuestion('/api/store/over-time', place);
  const { filters } = usePlace();
  const byBytes = filters.chart === 'bytes';
  const box = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const { value, error, waiting } = useAnswer<StoresOverTime>(question);
  const servers = value?.servers ?? NO_SERVERS;
  const colourOf = (index: number) => cssColour(identityColour(theme, 1 + index * 3));
  const lines = useMemo<ChartLine[]>(
    () =>
      servers.flatMap(({ busy, read, written, bus }, index) => {
        const look = { stroke: colourOf(index), width: 1.5 };
        if (!byBytes) return [{ values: busy, ...look }];
        const ofBus = bus ? [{ values: bus, ...look, dash: DOTTED }] : [];
        return [{ values: written, ...look }, { values: read, ...look, dash: DASHED }, ...ofBus];
      }),
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [servers, byBytes, theme],
  );
  const top = useMemo(
    () => (byBytes ? Math.max(1, ...lines.flatMap(({ values }) => values.map((one) => one ?? 0))) : 1),
    [lines, byBytes],
  );
  if (error) return <ErrorNotice error={error} />;

  const bytes = (rates: readonly number[]) =>
    wordBytes(Math.round((sum(rates) * span(range)) / Math.max(1, rates.length) / 1e9));
  const wordsOf = (server: StoreOverTime) => {
    const { busy, read, written, bus } = server;
    const told = byBytes
      ? `${bytes(written)} to clients, ${bytes(read)} from them${bus ? `, ${bytes(bus)} over the bus` : ''}`
      : `${wordShare(sum(busy) / Math.max(1, busy.length))} busy, up to ${Math.max(0, ...server.waiting)} clients waiting`;
    return `${nameOfServer(server)}: ${told}`;
  };
  const words = servers.map(wordsOf);
  return (
    <div className="usage-chart">
      <div className="usage-words" style={{ width: place.left }}>
        <span className="choice" role="group" aria-label="What the chart shows">
          {([false, true] as const).map((ofBytes) => (
            <button
              key={String(ofBytes)}
              type="button"
              aria-pressed={ofBytes === byBytes}
              onClick={() => adjust({ filters: { chart: ofBytes ? 'bytes' : null } })}
            >
              {ofBytes ? 'Bytes' : 'Busy'}
            </button>
          ))}
        </span>
        {waiting && <span className="muted">{jobTitle(waiting.job)} …</span>}
        <span className="io-media" title={words.join('\n')}>
          {servers.map((server, index) => (
            <span key={words[index]} className="io-medium">
              <span className="swatch" style={{ background: colourOf(index) }} />
              {servers.length === 1 ? words[index]!.replace(/^[^:]*: /, '') : nameOfServer(server)}
            </span>
          ))}
          {byBytes && (
            <span className="muted">
              – to clients, ┄ from them{servers.some(({ bus }) => bus) && ', ··· bus'}
            </span>
          )}
        </span>
        {servers.length > 0 && (
          <SaveButtons
            what="servers over time"
            savers={{
              png: () => saveCanvasesOf(box.current, 'store'),
              csv: () =>
                saveText('store.csv', 'text/csv', csvOfParts(range, servers[0]!.busy.length, columns())),
            }}
          />
        )}
      </div>
      <div className="io-lines">
        <TimeChart
          name={`Servers in the shown time: ${words.join('; ') || 'not known yet'}`}
          lines={lines}
          range={range}
          width={place.width}
          bends={place.bends}
          height={HEIGHT}
          top={top}
          splits={[0, top / 2, top]}
          box={box}
        />
        {lines.length > 0 && (
          <span className="io-top muted">{byBytes ? `${wordBytes(Math.round(top))}/s` : '100 %'}</span>
        )}
      </div>
    </div>
  );

  function columns() {
    return servers.flatMap((server) => {
      const name = nameOfServer(server);
      return [
        { title: `${name} busy`, values: server.busy },
        { title: `${name} clients waiting`, values: server.waiting },
        { title: `${name} to clients per s`, values: server.written },
        { title: `${name} from clients per s`, values: server.read },
        ...(server.bus ? [{ title: `${name} bus per s`, values: server.bus }] : []),
      ];
    });
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((all, one) => all + one, 0);
}
