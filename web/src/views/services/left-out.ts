// What of the spans the services view does not tell apart, in words: one line beside the choice of what is shown.
// How much is told apart is settled by the server (docs/reference/definitions.md, section "services").
import type { ServicesReport } from '../../model/interface';
import { wordNumberOf } from '../../model/wording';

type Counts = Pick<ServicesReport, 'other_services' | 'other_operations' | 'most_calls' | 'deeper_spans'>;

/** A sentence for each kind of which there are too many; none where all are told apart. */
export function wordLeftOut(report: Counts): string {
  const sentences: string[] = [];
  if (report.other_services > 0) {
    sentences.push(`${wordNumberOf(report.other_services, 'service')}, the rarest, shown as (other).`);
  }
  if (report.other_operations > 0) {
    const operations = wordNumberOf(report.other_operations, 'operation');
    sentences.push(`${operations}, the rarest, shown as (other) of their service.`);
  }
  if (report.deeper_spans > 0) {
    const longest = wordNumberOf(report.most_calls, 'call');
    const spans = wordNumberOf(report.deeper_spans, 'span');
    const count = report.deeper_spans === 1 ? 'counts' : 'count';
    sentences.push(`No path has more than ${longest}: ${spans} below ${count} as time of its last one.`);
  }
  return sentences.join(' ');
}
