// Where links lead: from a finding's evidence to the request or thread at that time, from a request to its
// threads or events. One place, so that the same jump shows the same everywhere.
import { withMargin, type TimeRange } from '../draw/time-scale';
import type { Evidence, Finding } from './interface';
import { formatRange, type PlaceChange } from './place';

/** A request's path; its neighbourhood in time becomes the range of the other views. */
export function toRequest(
  request: { id: number; begin_ns: number; end_ns: number },
  bounds: TimeRange,
): PlaceChange {
  const range = withMargin({ begin: request.begin_ns, end: request.end_ns }, 0.1, bounds);
  return { view: 'requests', request: request.id, range, at: null, filters: { focus: null } };
}

export function toThread(tid: number, host: number, time: TimeRange, bounds: TimeRange): PlaceChange {
  return {
    view: 'threads',
    range: withMargin(time, 0.6, bounds),
    at: Math.round(time.begin),
    thread: null,
    filters: { tid: String(tid), host: String(host) },
  };
}

export function toEvidence(evidence: Evidence, finding: Finding, bounds: TimeRange): PlaceChange | null {
  const begin = evidence.begin_ns ?? null;
  const end = evidence.end_ns ?? begin;
  const time = begin === null || end === null ? null : { begin, end: Math.max(end, begin + 1) };
  if (evidence.request !== null && evidence.request !== undefined) {
    // The request's view finds its own range; the time of the evidence is pointed out in it.
    return {
      view: 'requests',
      request: evidence.request,
      at: time ? time.begin : null,
      range: time ? withMargin(time, 0.6, bounds) : null,
      filters: { focus: null, mark: time && formatRange(time) },
    };
  }
  if (time === null) return null;
  const tid = evidence.tid ?? null;
  if (tid !== null) return toThread(tid, finding.host, time, bounds);
  return { view: 'threads', range: withMargin(time, 0.6, bounds), at: time.begin };
}
