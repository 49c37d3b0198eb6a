// What is pointed out along a time line: stretches that findings are about, pieces of their evidence, and where
// events were lost. Pure: which there are, and where they lie in a picture; what would lie upon each other is
// put together.
import type { Finding, LostEvents } from '../model/interface';
import { wordNumberOf } from '../model/wording';
import { span, xOfTime, type TimeRange, type TimeScale } from './time-scale';

export type AnnotationKind = 'high' | 'medium' | 'low' | 'lost';

export interface Annotation extends TimeRange {
  kind: AnnotationKind;
  title: string;
  /** The finding's number in the list of findings; null where nothing was found but lost. */
  finding: number | null;
}

export interface PlacedAnnotation {
  x: number;
  width: number;
  /** The worst first. Long stretches stand alone. */
  members: Annotation[];
}

/** Findings about (nearly) all of the recording point at nothing. */
const ALL = 0.95;
const RANK: Record<AnnotationKind, number> = { high: 0, medium: 1, low: 2, lost: 3 };
const NARROWEST = 5;

export function annotationsOf(
  findings: readonly Finding[],
  lost: readonly LostEvents[],
  bounds: TimeRange,
): Annotation[] {
  const found: Annotation[] = [];
  findings.forEach((finding, index) => {
    const add = (begin: number, end: number, title: string) =>
      found.push({ begin, end: Math.max(end, begin + 1), kind: finding.severity, title, finding: index });
    if (finding.end_ns - finding.begin_ns < span(bounds) * ALL) {
      add(finding.begin_ns, finding.end_ns, finding.title);
    }
    for (const { begin_ns: begin, end_ns: end, text } of finding.evidence) {
      if (begin !== null && begin !== undefined) add(begin, end ?? begin, `${finding.title}: ${text}`);
    }
  });
  for (const { begin_ns: begin, end_ns: end, events } of lost) {
    const title = `${wordNumberOf(events, 'event')} lost`;
    found.push({ begin, end: Math.max(end, begin + 1), kind: 'lost', title, finding: null });
  }
  return found;
}

/** Of each kind those in sight, from left to right; neighbours that touch are one. */
export function placeAnnotations(
  annotations: readonly Annotation[],
  scale: TimeScale,
  kinds: readonly AnnotationKind[],
): PlacedAnnotation[] {
  const wanted = annotations
    .filter(
      ({ kind, begin, end }) => kinds.includes(kind) && end > scale.range.begin && begin < scale.range.end,
    )
    .sort((one, other) => one.begin - other.begin);
  const placed: PlacedAnnotation[] = [];
  let latestSmall: PlacedAnnotation | null = null;
  for (const annotation of wanted) {
    const left = Math.max(0, xOfTime(scale, annotation.begin));
    const right = Math.min(scale.width, Math.max(xOfTime(scale, annotation.end), left + NARROWEST));
    const isSmall = right - left <= 2 * NARROWEST;
    if (isSmall && latestSmall && left < latestSmall.x + latestSmall.width + 1) {
      latestSmall.width = Math.max(latestSmall.width, right - latestSmall.x);
      latestSmall.members.push(annotation);
      continue;
    }
    const own = { x: left, width: Math.max(right - left, NARROWEST), members: [annotation] };
    if (isSmall) latestSmall = own;
    placed.push(own);
  }
  for (const { members } of placed) members.sort((one, other) => RANK[one.kind] - RANK[other.kind]);
  // Small ones lie upon long ones.
  return placed.sort((one, other) => other.width - one.width);
}
