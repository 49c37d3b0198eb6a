// A time graph as an SVG text: rows, states as rectangles, labels, arrows, axis. Pure. Made from the same
// pixel rows as the screen's picture, so that it stays small however many intervals there are.
import { headOf, linesOfArrows, type Arrow } from './arrows';
import { blend, cssColour, type Colour } from './colours';
import {
  emptyPixelRow,
  pixelsOfRuns,
  pixelsOfScreen,
  visibleShare,
  type Ink,
  type Run,
  type ScreenRow,
} from './pixel-rows';
import { heightOf, layoutRows, topOf, totalHeight } from './row-layout';
import { ticksOf } from './ticks';
import { foldsOf } from './folds';
import { span, type TimeScale } from './time-scale';
import { wordDuration } from '../model/wording';

export interface SvgRow {
  label: string;
  depth: number;
  height: number;
  heading: boolean;
  runs: readonly Run[] | null;
  screen: ScreenRow | null;
  inkOf: (value: number) => Ink;
}

export interface SvgColours {
  background: Colour;
  text: Colour;
  muted: Colour;
  line: Colour;
}

const LABELS = 230;
const AXIS = 26;
const AIR = 4;

export function svgPicture(
  rows: readonly SvgRow[],
  scale: TimeScale,
  arrows: readonly Arrow[],
  colours: SvgColours,
): string {
  const layout = layoutRows(rows.map((row) => row.height));
  const { width } = scale;
  const tall = totalHeight(layout) + AXIS;
  const parts: string[] = [];
  const text = cssColour(colours.text);
  const line = cssColour(colours.line);
  parts.push(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${LABELS + width}" height="${tall}" viewBox="0 0 ${LABELS + width} ${tall}" font-family="system-ui, sans-serif" font-size="11">`,
    `<rect width="100%" height="100%" fill="${cssColour(colours.background)}"/>`,
  );
  const ticks = ticksOf(scale);
  if (ticks.base !== null) parts.push(`<text x="8" y="17" fill="${text}">${escaped(ticks.baseLabel)}</text>`);
  for (const tick of ticks.marks) {
    const x = round(LABELS + tick.x);
    parts.push(
      `<line x1="${x}" x2="${x}" y1="4" y2="${tall}" stroke="${line}"/>`,
      `<text x="${x + 4}" y="17" fill="${cssColour(colours.muted)}">${escaped(tick.label)}</text>`,
    );
  }
  rows.forEach((row, index) => {
    const top = AXIS + topOf(layout, index);
    const height = heightOf(layout, index);
    parts.push(
      `<line x1="0" x2="${LABELS + width}" y1="${top}" y2="${top}" stroke="${line}"/>`,
      `<text x="${8 + row.depth * 12}" y="${top + height / 2 + 4}" fill="${row.heading ? cssColour(colours.muted) : text}">${escaped(row.label)}</text>`,
    );
    parts.push(...rectangles(row, scale, top + AIR / 2, height - AIR, colours.background));
  });
  for (const fold of foldsOf(scale)) {
    const middle = round(LABELS + fold.x + fold.width / 2);
    parts.push(
      `<rect x="${round(LABELS + fold.x)}" y="${AXIS}" width="${round(fold.width)}" height="${tall - AXIS}" fill="${cssColour(colours.background)}" stroke="${line}"/>`,
      `<text transform="translate(${middle + 4},${Math.min(tall - 4, AXIS + 86)}) rotate(-90)" fill="${cssColour(colours.muted)}">${escaped(wordDuration(span(fold)))}</text>`,
    );
  }
  const { lines } = linesOfArrows(arrows, scale, layout, 0, totalHeight(layout));
  for (const arrow of lines) {
    const [leftX, leftY, rightX, rightY] = headOf(arrow, 6);
    const at = (x: number, y: number) => `${round(LABELS + x)},${round(AXIS + y)}`;
    parts.push(
      `<polyline points="${at(arrow.fromX, arrow.fromY)} ${at(arrow.toX, arrow.toY)}" stroke="${text}" fill="none"/>`,
      `<polygon points="${at(arrow.toX, arrow.toY)} ${at(leftX, leftY)} ${at(rightX, rightY)}" fill="${text}"/>`,
    );
  }
  parts.push('</svg>');
  return parts.join('\n');
}

function rectangles(
  row: SvgRow,
  scale: TimeScale,
  top: number,
  height: number,
  background: Colour,
): string[] {
  const pixels = emptyPixelRow(scale.width);
  if (row.runs) pixelsOfRuns(row.runs, scale, pixels);
  else if (row.screen) pixelsOfScreen(row.screen, scale, pixels);
  else return [];
  const parts: string[] = [];
  let from = 0;
  for (let x = 1; x <= scale.width; x += 1) {
    const same =
      x < scale.width && pixels.values[x] === pixels.values[from] && pixels.shares[x] === pixels.shares[from];
    if (same) continue;
    const share = pixels.shares[from]!;
    const ink = row.inkOf(pixels.values[from]!);
    if (share > 0 && ink.weight > 0) {
      const inked = Math.max(1, height * ink.weight * (ink.rising ? share / 255 : 1));
      const colour = blend(background, ink.colour, ink.rising ? 1 : visibleShare(share));
      parts.push(
        `<rect x="${LABELS + from}" y="${round(top + height - inked)}" width="${x - from}" height="${round(inked)}" fill="${cssColour(colour)}"/>`,
      );
    }
    from = x;
  }
  return parts;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
