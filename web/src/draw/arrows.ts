// Arrows between rows of a time graph: which of them are shown, and their lines. An arrow is shown only
// where both of its rows are (what the user filtered away has no arrows), and where its time is in sight.
// Pure.
import type { RowLayout } from './row-layout';
import { heightOf, topOf } from './row-layout';
import { xOfTime, type TimeScale } from './time-scale';

export interface Arrow {
  fromRow: number;
  fromTime: number;
  toRow: number;
  toTime: number;
}

export interface ArrowLine {
  fromX: number;
  fromY: number;
  toX: number;
  toY: number;
  /** Unit vector of the direction, for the head. */
  directionX: number;
  directionY: number;
}

/** Translates arrows between things (threads, requests) to rows; those without a row on both ends are left out. */
export function arrowsBetweenRows<T>(
  arrows: readonly T[],
  ends: (arrow: T) => { from: string; fromTime: number; to: string; toTime: number },
  rowOf: ReadonlyMap<string, number>,
): Arrow[] {
  const shown: Arrow[] = [];
  for (const arrow of arrows) {
    const { from, fromTime, to, toTime } = ends(arrow);
    const fromRow = rowOf.get(from);
    const toRow = rowOf.get(to);
    if (fromRow === undefined || toRow === undefined || fromRow === toRow) continue;
    shown.push({ fromRow, fromTime, toRow, toTime });
  }
  return shown;
}

/**
 * Lines in the picture's own coordinates. Where there are more than `most`, so many that nobody could
 * follow one, none is shown: the caller says so instead of drawing a black wall.
 */
export function linesOfArrows(
  arrows: readonly Arrow[],
  scale: TimeScale,
  layout: RowLayout,
  scrollTop: number,
  height: number,
  most = 600,
): { lines: ArrowLine[]; tooMany: boolean } {
  const lines: ArrowLine[] = [];
  for (const arrow of arrows) {
    if (arrow.fromRow >= layout.count || arrow.toRow >= layout.count) continue;
    const fromX = xOfTime(scale, arrow.fromTime);
    const toX = xOfTime(scale, arrow.toTime);
    if (Math.max(fromX, toX) < 0 || Math.min(fromX, toX) > scale.width) continue;
    const downwards = arrow.toRow > arrow.fromRow;
    const fromTop = topOf(layout, arrow.fromRow) - scrollTop;
    const toTop = topOf(layout, arrow.toRow) - scrollTop;
    const fromY = fromTop + heightOf(layout, arrow.fromRow) * (downwards ? 0.6 : 0.4);
    const toY = toTop + heightOf(layout, arrow.toRow) * (downwards ? 0.4 : 0.6);
    if (Math.max(fromY, toY) < 0 || Math.min(fromY, toY) > height) continue;
    const length = Math.hypot(toX - fromX, toY - fromY) || 1;
    lines.push({
      fromX,
      fromY,
      toX,
      toY,
      directionX: (toX - fromX) / length,
      directionY: (toY - fromY) / length,
    });
    if (lines.length > most) return { lines: [], tooMany: true };
  }
  return { lines, tooMany: false };
}

/** The two barbs of an arrow's head, as points. */
export function headOf(line: ArrowLine, size: number): [number, number, number, number] {
  const backX = line.toX - line.directionX * size;
  const backY = line.toY - line.directionY * size;
  const sideX = -line.directionY * size * 0.5;
  const sideY = line.directionX * size * 0.5;
  return [backX + sideX, backY + sideY, backX - sideX, backY - sideY];
}
