// A low chart over the shown time, in line with a time graph below it: stepped lines, one or more as areas. uPlot
// draws; every value holds for its whole part of the time.
import { useEffect, useRef, type Ref } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { openStretches } from '../draw/folds';
import { span, xOfTime, type Bends, type TimeRange } from '../draw/time-scale';
import { styleColour, useTheme } from './theme';

export interface ChartLine {
  /** Null where nothing is known. */
  values: readonly (number | null)[];
  /** Of the present theme. */
  stroke: string;
  width?: number;
  alpha?: number;
  fill?: string;
  dash?: number[];
}

interface TimeChartProps {
  /** What it shows, in words. */
  name: string;
  /** New ones only where the chart is to be drawn anew. */
  lines: readonly ChartLine[];
  /** The time that the values are about. */
  range: TimeRange;
  width: number;
  height: number;
  /** Where time is folded. */
  bends: Bends | null;
  /** The value at the upper edge. */
  top: number;
  /** Where grid lines are. */
  splits: number[];
  box: Ref<HTMLDivElement>;
}

export function TimeChart({ name, lines, range, width, height, bends, top, splits, box }: TimeChartProps) {
  const element = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  useEffect(() => {
    const parts = lines[0]?.values.length ?? 0;
    if (!element.current || width < 10 || parts === 0) return;
    // Lines are steps; the last one is repeated to end with its part.
    const scale = { range, width: parts, bends };
    const positions = Array.from({ length: parts + 1 }, (_, index) =>
      xOfTime(scale, range.begin + (span(range) * index) / parts),
    );
    const open = openStretches(scale);
    const isOpen = positions.map((_, index) => {
      const middle = range.begin + (span(range) * (index + 0.5)) / parts;
      return open.some(({ begin, end }) => middle >= begin && middle < end);
    });
    const toTheEnd = (values: ChartLine['values']) =>
      [...values, values[values.length - 1] ?? null].map((value, index) =>
        isOpen[index] || index === parts ? value : null,
      );
    const paths = uPlot.paths.stepped!({ align: 1 });
    const chart = new uPlot(
      {
        width,
        height,
        padding: [6, 0, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false, range: [0, parts] }, y: { range: [0, top * 1.02] } },
        axes: [
          { show: false },
          {
            side: 1,
            size: 0,
            grid: { stroke: styleColour('--graph-grid'), width: 1 },
            ticks: { show: false },
            values: () => [],
            splits: () => splits,
          },
        ],
        series: [{}, ...lines.map(({ values, ...look }) => ({ ...look, paths, points: { show: false } }))],
      },
      [positions, ...lines.map(({ values }) => toTheEnd(values))],
      element.current,
    );
    return () => chart.destroy();
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [lines, width, height, top, theme, bends]);
  return (
    <div ref={box} className="usage-lines">
      <div ref={element} role="img" aria-label={name} style={{ height }} />
    </div>
  );
}
