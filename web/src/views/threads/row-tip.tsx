// What a row shows under the pointer, in words: the state or thread, how long and since when; of a pixel
// that holds several, the one that fills most of it.
import { pixelAt, runAt } from '../../draw/pixel-rows';
import { wordDuration, wordShare, wordTime } from '../../model/wording';
import type { RowContent } from '../../parts/time-graph/graph-types';
import { Facts } from '../../parts/tooltip';
import { valueAt, type RowMeaning } from './row-meaning';
import type { ThreadRow } from './thread-rows';

interface RowTipProps {
  row: ThreadRow;
  shown: RowContent;
  time: number;
  meaning: RowMeaning;
}

export function RowTip({ row, shown, time, meaning }: RowTipProps) {
  const facts: [string, string][] = [];
  const run = shown.kind === 'runs' ? runAt(shown.runs, time) : null;
  const pixel = shown.kind === 'screen' ? pixelAt(shown.screen, time) : null;
  const value = valueAt(shown, time);
  if (value !== null) {
    const part = pixel && pixel.share < 0.99 ? `, ${wordShare(pixel.share)} of this pixel` : '';
    facts.push([row.processor ? 'Runs' : 'State', `${meaning.wordsOf(row, value)}${part}`]);
  }
  if (run) {
    facts.push(['For', wordDuration(run.end - run.begin)]);
    facts.push(['From', wordTime(run.begin, Math.max(1, (run.end - run.begin) / 100))]);
  } else {
    facts.push(['At', wordTime(time, 1000)]);
  }
  return (
    <>
      <p className="tooltip-title">{row.label}</p>
      <Facts facts={facts} />
    </>
  );
}
