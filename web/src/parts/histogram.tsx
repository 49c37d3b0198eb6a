// A latency histogram as SVG: bars over a logarithmic axis, each a link to what it counts.
// Where the bars lie, draw/histogram.ts says.
import { useRef } from 'react';
import { histogramBars, histogramMarks, logPosition } from '../draw/histogram';
import type { Distribution } from '../model/interface';
import type { PlaceChange } from '../model/place';
import { addressOf } from '../model/place-store';
import { leadsSomewhere } from '../model/report';
import { wordDuration, wordNumberOf } from '../model/wording';
import { csvOf } from './data-table/table-rows';
import { useElementSize } from './element-size';
import { SaveButtons } from './save-buttons';
import { saveSvgOf } from './save-element';
import { saveText } from './save-file';

interface HistogramProps {
  name: string;
  distribution: Distribution;
  /** Where a bar leads. */
  placeOfBar: (from: number, to: number) => PlaceChange;
  marks?: readonly { value: number; label: string }[];
}

const HEIGHT = 96;
const AXIS = 18;
const TOP = 14;

export function Histogram({ name, distribution, placeOfBar, marks = [] }: HistogramProps) {
  const element = useRef<HTMLDivElement>(null);
  const { width } = useElementSize(element);
  const { edges_ns: edges, counts } = distribution;
  const bars = histogramBars(edges, counts, width, HEIGHT - AXIS - TOP);
  const position = logPosition(edges, width);
  const base = HEIGHT - AXIS;
  return (
    <div ref={element} className="histogram">
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="group" aria-label={name}>
          {histogramMarks(edges, width).map((mark) => (
            <g key={mark.value} className="histogram-axis">
              <line x1={mark.x} x2={mark.x} y1={TOP} y2={base + 3} />
              <text x={Math.min(width - 18, Math.max(14, mark.x))} y={HEIGHT - 4} textAnchor="middle">
                {wordDuration(mark.value)}
              </text>
            </g>
          ))}
          {bars.map((bar) => {
            const words = `${wordNumberOf(bar.count, 'request')} of ${wordDuration(bar.from)} to ${wordDuration(bar.to)}`;
            const drawn = (
              <>
                <title>{words}</title>
                <rect
                  x={bar.x}
                  y={TOP}
                  width={bar.width + 1}
                  height={base - TOP}
                  className="histogram-reach"
                />
                <rect
                  x={bar.x}
                  y={base - bar.height}
                  width={bar.width}
                  height={bar.height}
                  className="histogram-bar"
                />
              </>
            );
            const place = placeOfBar(bar.from, bar.to);
            return leadsSomewhere(place) ? (
              <a key={bar.from} href={addressOf(place)} aria-label={words}>
                {drawn}
              </a>
            ) : (
              <g key={bar.from}>{drawn}</g>
            );
          })}
          <line className="histogram-base" x1={0} x2={width} y1={base + 0.5} y2={base + 0.5} />
          {marks.map((mark) => (
            <g key={mark.label} className="histogram-mark">
              <line x1={position(mark.value)} x2={position(mark.value)} y1={TOP - 2} y2={base} />
              <text x={Math.min(width - 12, Math.max(12, position(mark.value)))} y={10} textAnchor="middle">
                {mark.label}
              </text>
            </g>
          ))}
        </svg>
      )}
      <SaveButtons
        what="the distribution"
        savers={{
          svg: () => saveSvgOf(element.current, 'distribution'),
          csv: () => saveText('distribution.csv', 'text/csv', csvOfDistribution(distribution)),
        }}
      />
    </div>
  );
}

function csvOfDistribution({ edges_ns: edges, counts }: Distribution): string {
  const rows = counts.map((count, index) => ({ from: edges[index]!, to: edges[index + 1]!, count }));
  return csvOf(rows, [
    { key: 'from', title: 'from_ns', value: (row) => row.from },
    { key: 'to', title: 'to_ns', value: (row) => row.to },
    { key: 'count', title: 'requests', value: (row) => row.count },
  ]);
}
