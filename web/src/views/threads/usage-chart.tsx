// The use of processors over the shown time, in line with the time graph below it: all of them as an area,
// each as a thin line. The numbers come from the server at the picture's resolution.
import { useMemo, useRef } from 'react';
import { cssColour, identityColour } from '../../draw/colours';
import { span, type Bends, type TimeRange } from '../../draw/time-scale';
import { useAnswer } from '../../model/answers';
import { withQuery } from '../../model/client';
import type { Usage } from '../../model/interface';
import { useHostName, useRecording } from '../../model/recording';
import { wordShare } from '../../model/wording';
import { csvOf } from '../../parts/data-table/table-rows';
import { SaveButtons } from '../../parts/save-buttons';
import { saveCanvasesOf } from '../../parts/save-element';
import { saveText } from '../../parts/save-file';
import { useSettled } from '../../parts/settled';
import { styleColour, useTheme } from '../../parts/theme';
import { TimeChart, type ChartLine } from '../../parts/time-chart';

export interface ChartPlace {
  range: TimeRange;
  /** Where the time line begins, and how wide it is (the graph below may have a scroll bar). */
  left: number;
  width: number;
  /** Where time is folded. */
  bends: Bends | null;
  /** How much wider the rest is then. */
  magnified: number;
}

const HEIGHT = 72;
const BUCKET_PIXELS = 4;
const MOST_BUCKETS = 4000;
const PAUSE = 40;
const MOST_LINES = 32;

/** A question about the shown time, cut into parts as wide as steps in a chart should be. */
export function useChartQuestion(path: string, { range: present, width, magnified }: ChartPlace) {
  const range = useSettled(present, PAUSE);
  const wanted = Math.round((width * magnified) / BUCKET_PIXELS / 20) * 20;
  const buckets = Math.min(MOST_BUCKETS, Math.max(10, wanted));
  const query = { begin_ns: range.begin, end_ns: range.end, buckets };
  return { range, question: width < 10 ? null : { path: withQuery(path, query) } };
}

export function UsageChart(place: ChartPlace) {
  const { range, question } = useChartQuestion('/api/usage', place);
  const box = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const { hosts } = useRecording();
  const hostName = useHostName();
  const usage = useAnswer<Usage>(question).value;
  const mean = usage?.mean ?? null;
  const lines = useMemo<ChartLine[]>(() => {
    if (!usage) return [];
    const each = usage.cpus.length <= MOST_LINES ? usage.cpus : [];
    return [
      ...each.map(({ cpu, values }) => ({
        values,
        stroke: cssColour(identityColour(theme, cpu + 3)),
        width: 1,
        alpha: 0.4,
      })),
      {
        values: usage.total,
        stroke: styleColour('--accent'),
        width: 1.5,
        fill: styleColour('--graph-rubber'),
      },
    ];
  }, [usage, theme]);

  const words = usage
    ? usage.cpus
        .map(({ host, cpu, mean }) => {
          const said = mean === null ? 'not known' : wordShare(mean);
          return `${hosts.length > 1 ? `${hostName(host)} ` : ''}CPU ${cpu} ${said}`;
        })
        .join(', ')
    : '';
  return (
    <div className="usage-chart">
      <div className="usage-words" style={{ width: place.left }}>
        <strong>CPU use</strong>
        <span className="muted" title={words}>
          {mean === null ? '' : `${wordShare(mean)} of all processors`}
        </span>
        {usage && (
          <SaveButtons
            what="CPU use"
            savers={{
              png: () => saveCanvasesOf(box.current, 'cpu-use'),
              csv: () =>
                saveText('cpu-use.csv', 'text/csv', csvOfParts(range, usage.total.length, columnsOf(usage))),
            }}
          />
        )}
      </div>
      <TimeChart
        name={`Use of processors in the shown time: ${words || 'not known yet'}`}
        lines={lines}
        range={range}
        width={place.width}
        bends={place.bends}
        height={HEIGHT}
        top={1}
        splits={[0, 0.5, 1]}
        box={box}
      />
    </div>
  );

  function columnsOf({ total, cpus }: Usage): ChartColumn[] {
    return [
      { title: 'all', values: total },
      ...cpus.map(({ host, cpu, values }) => ({ title: `${hostName(host)} cpu${cpu}`, values })),
    ];
  }
}

export interface ChartColumn {
  title: string;
  values: readonly (number | null)[];
}

/** A row per part of the shown time. */
export function csvOfParts(range: TimeRange, count: number, columns: readonly ChartColumn[]): string {
  const step = span(range) / Math.max(1, count);
  const parts = Array.from({ length: count }, (_, index) => index);
  return csvOf(parts, [
    { key: 'begin', title: 'begin_ns', value: (index) => Math.round(range.begin + index * step) },
    ...columns.map(({ title, values }) => ({
      key: title,
      title,
      value: (index: number) => values[index] ?? null,
    })),
  ]);
}
