// Two thin lanes below a time axis: findings, and where events were lost. Each mark is a link to its finding, so
// the keyboard reaches it; pointing at one shades its time over all rows.
import { placeAnnotations, type Annotation, type AnnotationKind } from '../../draw/annotations';
import type { TimeScale } from '../../draw/time-scale';
import { addressOf } from '../../model/place-store';

interface AnnotationLaneProps {
  annotations: readonly Annotation[];
  scale: TimeScale;
  onPoint: (annotation: Annotation | null) => void;
}

const LANES: readonly (readonly AnnotationKind[])[] = [['high', 'medium', 'low'], ['lost']];
/** Titles that fit into a tooltip. */
const MOST_TITLES = 6;

export function AnnotationLane({ annotations, scale, onPoint }: AnnotationLaneProps) {
  return (
    <div className="annotation-lanes">
      {LANES.map((kinds) =>
        placeAnnotations(annotations, scale, kinds).map(({ x, width, members }) => {
          const first = members[0]!;
          const titles = [...new Set(members.map(({ title }) => title))];
          const more = titles.length - MOST_TITLES;
          const words = [...titles.slice(0, MOST_TITLES), ...(more > 0 ? [`and ${more} more`] : [])].join(
            '\n',
          );
          const look = {
            className: `annotation is-${first.kind}`,
            style: { left: x, width },
            title: words,
            onMouseEnter: () => onPoint(first),
            onMouseLeave: () => onPoint(null),
          };
          const key = `${first.kind} ${first.begin} ${first.end} ${first.finding}`;
          return first.finding === null ? (
            <span key={key} role="img" aria-label={words} {...look} />
          ) : (
            <a
              key={key}
              href={addressOf({ view: 'overview', filters: { finding: String(first.finding) } })}
              aria-label={`Finding: ${words}`}
              onFocus={() => onPoint(first)}
              onBlur={() => onPoint(null)}
              {...look}
            />
          );
        }),
      )}
    </div>
  );
}
