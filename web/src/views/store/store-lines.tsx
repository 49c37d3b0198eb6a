// The store's time lines: how busy servers were and what went through them, and below that event loops, threads and
// connections, on the same time axis as every other view.
import { useCallback, useMemo, useRef, useState } from 'react';
import type { RowSpan } from '../../draw/row-layout';
import { pixelAt, runAt, type Run } from '../../draw/pixel-rows';
import { useAnnotations } from '../../model/annotations';
import { useAnswer } from '../../model/answers';
import type { StoreRowList, StoreTables, Thread, Threads } from '../../model/interface';
import { adjust, usePlace } from '../../model/place-store';
import { useHasKernel, useHostName, useSharedRange } from '../../model/recording';
import { wordDuration, wordTime } from '../../model/wording';
import { EmptyNotice, ErrorNotice } from '../../parts/notices';
import { SaveButtons } from '../../parts/save-buttons';
import { useTheme } from '../../parts/theme';
import { NOTHING, type GraphColumn, type RowContent } from '../../parts/time-graph/graph-types';
import { graphSavers } from '../../parts/time-graph/save-picture';
import { TimeGraph, type TimeGraphHandle } from '../../parts/time-graph/time-graph';
import { Facts } from '../../parts/tooltip';
import { useRowPictures } from '../threads/row-data';
import { useRowMeaning } from '../threads/row-meaning';
import type { ThreadRow } from '../threads/thread-rows';
import { StoreChart } from './store-chart';
import { LEGEND, LOOKS, storeMeaning, type StoreMeaning } from './store-meaning';
import { storeLines, type StoreLine } from './store-rows';
import { useStoreArrows } from './use-store-arrows';
import { useStoreOperations, wordOperation } from './use-store-operations';

const NO_THREADS: Thread[] = [];
const NAME_WIDTH = 330;
const COLUMNS: GraphColumn<StoreLine>[] = [
  {
    key: 'name',
    title: 'Event loops, threads, connections',
    width: NAME_WIDTH,
    cell: (line) => <span title={line.label}>{line.label}</span>,
  },
];

export function StoreLines({ list, told }: { list: StoreRowList; told: StoreTables }) {
  const { filters, at } = usePlace();
  const { range, bounds, setRange } = useSharedRange();
  const theme = useTheme();
  const graph = useRef<TimeGraphHandle>(null);
  const annotations = useAnnotations();
  const [sight, setSight] = useState<{ rows: RowSpan; pixels: number }>({
    rows: { first: 0, end: 0 },
    pixels: 0,
  });
  const byCommand = filters.colour === 'commands';
  const hostName = useHostName();
  const ofKernel = useAnswer<Threads>(useHasKernel() ? { path: '/api/threads' } : null);
  const threads = ofKernel.value?.threads ?? NO_THREADS;
  const lines = useMemo(
    () => storeLines(list.rows, told, threads, hostName),
    [list, told, threads, hostName],
  );
  const ofThread = useRowMeaning(threads, false);
  const meaning = useMemo<StoreMeaning>(() => {
    const ofStore = storeMeaning(list, theme, byCommand);
    const asThread = (line: StoreLine): ThreadRow => ({ ...line, processor: null });
    return {
      inkOf: (line) => (line.thread ? ofThread.inkOf(asThread(line)) : ofStore.inkOf(line)),
      labelOf: (line, value) =>
        line.thread ? ofThread.labelOf(asThread(line), value) : ofStore.labelOf(line, value),
      wordsOf: (line, value) =>
        line.thread ? ofThread.wordsOf(asThread(line), value) : ofStore.wordsOf(line, value),
    };
  }, [list, theme, byCommand, ofThread]);
  const seen = useMemo(
    () => lines.slice(sight.rows.first, sight.rows.end).flatMap(({ shown }) => (shown ? [shown] : [])),
    [lines, sight],
  );
  const ofCommands = (shown: StoreLine['shown']) => byCommand && shown?.kind === 'connection';
  const operations = useMemo(
    () => seen.filter((shown) => !(byCommand && shown.kind === 'connection')).map(({ row }) => row),
    [seen, byCommand],
  );
  const connections = useMemo(
    () => (byCommand ? seen.filter(({ kind }) => kind === 'connection').map(({ row }) => row) : []),
    [seen, byCommand],
  );
  const seenThreads = useMemo(
    () => lines.slice(sight.rows.first, sight.rows.end).flatMap(({ thread }) => (thread ? [thread.row] : [])),
    [lines, sight],
  );
  const ofThreads = useRowPictures('threads', seenThreads, range, bounds, sight.pixels);
  const ofOperations = useRowPictures('store', operations, range, bounds, sight.pixels);
  const ofConnections = useRowPictures('store-commands', connections, range, bounds, sight.pixels);

  const seenRows = useMemo(() => seen.map(({ row }) => row), [seen]);
  const arrows = useStoreArrows(lines, seenRows, range, filters.arrows !== 'no');

  const seenOperations = useMemo(
    () => seen.filter(({ kind }) => kind === 'connection-operations').map(({ row }) => row),
    [seen],
  );
  const done = useStoreOperations(seenOperations, range);
  /** What is known of what is done, by row and time. */
  const wordsOfDone = useMemo(
    () => new Map(done.operations.map((one) => [`${one.row} ${one.at_ns}`, wordOperation(one)])),
    [done],
  );

  const content = useCallback(
    (index: number): RowContent => {
      const line = lines[index];
      const row = line?.shown?.row ?? line?.thread?.row;
      if (!line || row === undefined) return NOTHING;
      const from = line.thread ? ofThreads : ofCommands(line.shown) ? ofConnections : ofOperations;
      const inkOf = meaning.inkOf(line);
      const runs = from.runs.get(row);
      const textOf = (run: Run) => wordsOfDone.get(`${row} ${run.begin}`) ?? meaning.labelOf(line, run.value);
      if (runs) return { kind: 'runs', runs, inkOf, textOf };
      const screen = from.screens.get(row);
      return screen ? { kind: 'screen', screen, inkOf } : NOTHING;
    },
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [lines, ofOperations, ofConnections, ofThreads, meaning, byCommand, wordsOfDone],
  );
  const onSight = useCallback((rows: RowSpan, pixels: number) => setSight({ rows, pixels }), []);
  const error = ofOperations.error ?? ofConnections.error ?? ofThreads.error;
  const width = Math.round(sight.pixels / Math.min(2, window.devicePixelRatio || 1));
  const place = { range, bends: null, magnified: 1, left: NAME_WIDTH, width };
  if (error) return <ErrorNotice error={error} />;
  if (lines.length === 0) return <EmptyNotice title="No client was served while it was recorded" />;
  return (
    <div className="view-column">
      <StoreChart {...place} />
      <div className="view-rest">
        <div className="graph-with-bar">
          <TimeGraph<StoreLine>
            name="Event loops, threads and connections over time"
            rows={lines}
            columns={COLUMNS}
            content={content}
            range={range}
            bounds={bounds}
            onRange={setRange}
            at={at}
            onAt={(time) => adjust({ at: time })}
            arrows={arrows}
            annotations={annotations}
            onSight={onSight}
            handle={graph}
            tooltip={(line, index, time) =>
              (line.shown || line.thread) && (
                <LineTip
                  line={line}
                  shown={content(index)}
                  time={time}
                  meaning={meaning}
                  done={wordsOfDone}
                />
              )
            }
          />
          <div className="graph-bar">
            {byCommand ? (
              <span className="muted">The colour of a connection is the command that it is at</span>
            ) : (
              <StoreLegend />
            )}
            <span className="spacer" />
            <SaveButtons
              savers={graphSavers(() => ({
                name: 'store',
                rows: lines,
                content,
                range,
                bends: null,
                arrows: arrows?.arrows ?? [],
                theme,
                sight: graph.current?.inSight() ?? null,
              }))}
            />
          </div>
        </div>
      </div>
    </div>
  );
}

function StoreLegend() {
  return (
    <ul className="legend" aria-label="Operations and their colours">
      {LEGEND.map((name) => (
        <li key={name} title={LOOKS[name]!.meaning}>
          <span className={`swatch state-${LOOKS[name]!.like}`} />
          {LOOKS[name]!.title}
        </li>
      ))}
    </ul>
  );
}

interface LineTipProps {
  line: StoreLine;
  shown: RowContent;
  time: number;
  meaning: StoreMeaning;
  done: ReadonlyMap<string, string>;
}

function LineTip({ line, shown, time, meaning, done }: LineTipProps) {
  const run = shown.kind === 'runs' ? runAt(shown.runs, time) : null;
  const pixel = shown.kind === 'screen' ? pixelAt(shown.screen, time) : null;
  const value = run?.value ?? pixel?.value;
  const facts: [string, string][] = [];
  if (value !== undefined) facts.push(['Is', meaning.wordsOf(line, value)]);
  const words = run && line.shown ? done.get(`${line.shown.row} ${run.begin}`) : undefined;
  if (words) facts.push(['Did', words]);
  if (run) {
    facts.push(['For', wordDuration(run.end - run.begin)]);
    facts.push(['From', wordTime(run.begin, Math.max(1, (run.end - run.begin) / 100))]);
  } else {
    facts.push(['At', wordTime(time, 1000)]);
  }
  return (
    <>
      <p className="tooltip-title">{line.label}</p>
      <Facts facts={facts} />
    </>
  );
}
