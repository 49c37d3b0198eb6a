// The use of processors over the shown time, in line with the time graph below it: all of them as an area,
// each as a thin line. uPlot draws; the numbers come from the server at the picture's resolution.
import { useEffect, useMemo, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { cssColour, identityColour } from '../../draw/colours';
import { span, type TimeRange } from '../../draw/time-scale';
import { useAnswer } from '../../model/answers';
import { withQuery } from '../../model/client';
import type { Usage } from '../../model/interface';
import { useHostName, useRecording } from '../../model/recording';
import { wordShare } from '../../model/wording';
import { useSettled } from '../../parts/settled';
import { csvOf } from '../../parts/data-table/table-rows';
import { SaveButtons } from '../../parts/save-buttons';
import { saveCanvasesOf } from '../../parts/save-element';
import { saveText } from '../../parts/save-file';
import { styleColour, useTheme } from '../../parts/theme';

interface UsageChartProps {
  range: TimeRange;
  /** Where the time line begins, and how wide it is (the graph below may have a scroll bar). */
  left: number;
  width: number;
}

const HEIGHT = 72;
const BUCKET_PIXELS = 4;
const PAUSE = 40;

export function UsageChart({ range: present, left, width }: UsageChartProps) {
  const range = useSettled(present, PAUSE);
  const element = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const { hosts } = useRecording();
  const hostName = useHostName();
  const buckets = Math.max(10, Math.round(width / BUCKET_PIXELS / 20) * 20);
  const answer = useAnswer<Usage>(
    width < 10
      ? null
      : { path: withQuery('/api/usage', { begin_ns: range.begin, end_ns: range.end, buckets }) },
  );
  const usage = answer.value;
  const mean = useMemo(() => {
    if (!usage || usage.total.length === 0) return null;
    return usage.total.reduce((sum, share) => sum + share, 0) / usage.total.length;
  }, [usage]);

  useEffect(() => {
    const box = element.current;
    if (!box || !usage || width < 10 || usage.total.length === 0) return;
    // A value holds for its whole bucket, so lines are steps; the last one is repeated to end with it.
    const positions = Array.from({ length: usage.total.length + 1 }, (_, index) => index);
    const toTheEnd = (values: readonly number[]) => [...values, values[values.length - 1] ?? 0];
    const paths = uPlot.paths.stepped!({ align: 1 });
    const lines = usage.cpus.length <= 32 ? usage.cpus : [];
    const accent = styleColour('--accent');
    const chart = new uPlot(
      {
        width,
        height: HEIGHT,
        padding: [6, 0, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false, range: [0, usage.total.length] }, y: { range: [0, 1.02] } },
        axes: [
          { show: false },
          {
            side: 1,
            size: 0,
            grid: { stroke: styleColour('--graph-grid'), width: 1 },
            ticks: { show: false },
            values: () => [],
            splits: () => [0, 0.5, 1],
          },
        ],
        series: [
          {},
          ...lines.map(({ cpu }) => ({
            stroke: cssColour(identityColour(theme, cpu + 3)),
            width: 1,
            paths,
            alpha: 0.4,
            points: { show: false },
          })),
          {
            stroke: accent,
            width: 1.5,
            paths,
            fill: styleColour('--graph-rubber'),
            points: { show: false },
          },
        ],
      },
      [positions, ...lines.map(({ values }) => toTheEnd(values)), toTheEnd(usage.total)],
      box,
    );
    return () => chart.destroy();
  }, [usage, width, theme]);

  const words = usage
    ? usage.cpus
        .map(({ host, cpu, values }) => {
          const share = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
          return `${hosts.length > 1 ? `${hostName(host)} ` : ''}CPU ${cpu} ${wordShare(share)}`;
        })
        .join(', ')
    : '';
  return (
    <div className="usage-chart">
      <div className="usage-words" style={{ width: left }}>
        <strong>CPU use</strong>
        <span className="muted" title={words}>
          {mean === null ? '' : `${wordShare(mean)} of all processors`}
        </span>
        {usage && (
          <SaveButtons
            what="CPU use"
            savers={{
              png: () => saveCanvasesOf(element.current, 'cpu-use'),
              csv: () => saveText('cpu-use.csv', 'text/csv', csvOfUsage(usage, range, hostName)),
            }}
          />
        )}
      </div>
      <div
        ref={element}
        className="usage-lines"
        role="img"
        aria-label={`Use of processors in the shown time: ${words || 'not known yet'}`}
        style={{ height: HEIGHT }}
      />
    </div>
  );
}

/** A row per part of the shown time, a column per processor. */
function csvOfUsage(usage: Usage, range: TimeRange, hostName: (host: number) => string): string {
  const step = span(range) / Math.max(1, usage.total.length);
  const parts = usage.total.map((total, index) => ({ total, index }));
  return csvOf(parts, [
    { key: 'begin', title: 'begin_ns', value: ({ index }) => Math.round(range.begin + index * step) },
    { key: 'all', title: 'all', value: ({ total }) => total },
    ...usage.cpus.map(({ host, cpu, values }) => ({
      key: `${host} ${cpu}`,
      title: `${hostName(host)} cpu${cpu}`,
      value: ({ index }: { index: number }) => values[index] ?? null,
    })),
  ]);
}
