// Bytes read and written over the shown time, in line with the time graph below it: a line per host and medium
// (files, network …), dashed where written. The server knows them in parts of the recording.
import { useMemo, useRef } from 'react';
import { cssColour, identityColour } from '../../draw/colours';
import { span } from '../../draw/time-scale';
import { useAnswer } from '../../model/answers';
import type { IoRates, MediumRates } from '../../model/interface';
import { useHostName, useRecording } from '../../model/recording';
import { wordBytes } from '../../model/wording';
import { ErrorNotice, jobTitle } from '../../parts/notices';
import { SaveButtons } from '../../parts/save-buttons';
import { saveCanvasesOf } from '../../parts/save-element';
import { saveText } from '../../parts/save-file';
import { useTheme } from '../../parts/theme';
import { TimeChart, type ChartLine } from '../../parts/time-chart';
import { csvOfParts, useChartQuestion, type ChartPlace } from './usage-chart';

const HEIGHT = 72;
const MEDIUM_COLOURS = { files: 1, network: 4, other: 2, unknown: 7 } as const;
const DASH = [4, 3];

export function IoChart(place: ChartPlace) {
  const { range, question } = useChartQuestion('/api/io', place);
  const box = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const { hosts } = useRecording();
  const hostName = useHostName();
  const { value, error, waiting } = useAnswer<IoRates>(question);
  const colourOf = (rates: MediumRates) =>
    cssColour(identityColour(theme, MEDIUM_COLOURS[rates.medium] + rates.host * 11));
  const lines = useMemo<ChartLine[]>(
    () =>
      (value?.rates ?? []).flatMap((rates) => [
        { values: rates.read, stroke: colourOf(rates), width: 1.5 },
        { values: rates.written, stroke: colourOf(rates), width: 1.5, dash: DASH },
      ]),
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [value, theme],
  );
  const top = useMemo(
    () => Math.max(1, ...lines.map((line) => Math.max(0, ...line.values.map((value) => value ?? 0)))),
    [lines],
  );
  if (error) return <ErrorNotice error={error} />;

  const nameOf = ({ host, medium }: MediumRates) =>
    hosts.length > 1 ? `${hostName(host)} ${medium}` : medium;
  const bytes = (rates: readonly (number | null)[]) => {
    const seconds = span(range) / Math.max(1, rates.length) / 1e9;
    return wordBytes(rates.reduce<number>((sum, rate) => sum + (rate ?? 0) * seconds, 0));
  };
  const words = value?.rates.map(
    (rates) => `${nameOf(rates)}: ${bytes(rates.read)} read, ${bytes(rates.written)} written`,
  );
  return (
    <div className="usage-chart">
      <div className="usage-words" style={{ width: place.left }}>
        <strong>
          Input and output <span className="muted">– read, ┄ written</span>
        </strong>
        {waiting && <span className="muted">{jobTitle(waiting.job)} …</span>}
        <span className="io-media" title={words?.join('\n')}>
          {value?.rates.map((rates) => (
            <span key={nameOf(rates)} className="io-medium">
              <span className="swatch" style={{ background: colourOf(rates) }} />
              {nameOf(rates)}
            </span>
          ))}
          {value?.rates.length === 0 && <span className="muted">nothing was read or written</span>}
        </span>
        {value && value.rates.length > 0 && (
          <SaveButtons
            what="input and output"
            savers={{
              png: () => saveCanvasesOf(box.current, 'input-and-output'),
              csv: () => {
                const columns = value.rates.flatMap((rates) => [
                  { title: `${nameOf(rates)} read per s`, values: rates.read },
                  { title: `${nameOf(rates)} written per s`, values: rates.written },
                ]);
                const count = columns[0]?.values.length ?? 0;
                saveText('input-and-output.csv', 'text/csv', csvOfParts(range, count, columns));
              },
            }}
          />
        )}
      </div>
      <div className="io-lines">
        <TimeChart
          name={`Bytes read and written in the shown time: ${words?.join('; ') || 'not known yet'}`}
          lines={lines}
          range={range}
          width={place.width}
          bends={place.bends}
          height={HEIGHT}
          top={top}
          splits={[0, top / 2, top]}
          box={box}
        />
        {lines.length > 0 && <span className="io-top muted">{wordBytes(top)}/s</span>}
      </div>
    </div>
  );
}
