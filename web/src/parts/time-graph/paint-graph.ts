// Paints a time graph's two canvases: states as pixels below; labels, arrows, marks and cursors above.
// Takes all it needs as arguments and keeps nothing but the pixels that it reuses. No mouse, no React.
import { headOf, linesOfArrows } from '../../draw/arrows';
import { cssColour, textColourOn, type Colour } from '../../draw/colours';
import {
  emptyPixelRow,
  labelsOfRuns,
  paintRow,
  pixelsOfRuns,
  pixelsOfScreen,
  type PixelRow,
} from '../../draw/pixel-rows';
import { heightOf, rowsInSight, topOf, type RowLayout } from '../../draw/row-layout';
import { ticksOf } from '../../draw/ticks';
import { foldsOf } from '../../draw/folds';
import { span, xOfTime, type Bends, type TimeRange, type TimeScale } from '../../draw/time-scale';
import { wordDuration } from '../../model/wording';
import type { GraphArrows, GraphMark, RowContent } from './graph-types';

export interface GraphPicture {
  range: TimeRange;
  bends: Bends | null;
  layout: RowLayout;
  scrollTop: number;
  width: number;
  height: number;
  /** Device pixels per CSS pixel. */
  density: number;
  content: (row: number) => RowContent;
  background: Colour;
}

export interface GraphOverlay extends GraphPicture {
  arrows: GraphArrows | null;
  marks: readonly GraphMark[];
  at: number | null;
  hoverX: number | null;
  rubber: { from: number; to: number } | null;
  colours: OverlayColours;
}

export interface OverlayColours {
  grid: string;
  arrow: string;
  arrowHalo: string;
  cursor: string;
  hover: string;
  mark: string;
  markEdge: string;
  rubber: string;
  fold: string;
  foldEdge: string;
  foldText: string;
}

/** Empty edges of a row, so that rows don't touch. */
const ROW_AIR = 4;
const LABEL_FONT = '11px system-ui, sans-serif';
const FOLD_FONT = '10px system-ui, sans-serif';
/** Where the lower end of a folded stretch's label is. */
const FOLD_LABEL = 86;

let reusable: PixelRow = emptyPixelRow(0);
let image: ImageData | null = null;

export function paintStates(context: CanvasRenderingContext2D, picture: GraphPicture): void {
  const { density } = picture;
  const width = Math.max(1, Math.round(picture.width * density));
  const height = Math.max(1, Math.round(picture.height * density));
  if (image?.width !== width || image.height !== height) image = context.createImageData(width, height);
  else image.data.fill(0);
  const target = { pixels: new Uint32Array(image.data.buffer), width, height };
  const scale: TimeScale = { range: picture.range, width, bends: picture.bends };
  if (reusable.values.length !== width) reusable = emptyPixelRow(width);
  const sight = rowsInSight(picture.layout, picture.scrollTop, picture.height);
  for (let row = sight.first; row < sight.end; row += 1) {
    const content = picture.content(row);
    if (content.kind === 'nothing') continue;
    if (content.kind === 'runs') pixelsOfRuns(content.runs, scale, reusable);
    else pixelsOfScreen(content.screen, scale, reusable);
    const top = (topOf(picture.layout, row) - picture.scrollTop + ROW_AIR / 2) * density;
    const tall = (heightOf(picture.layout, row) - ROW_AIR) * density;
    paintRow(target, top, tall, reusable, content.inkOf, picture.background);
  }
  context.putImageData(image, 0, 0);
}

/** Returns whether arrows were left out because there are too many. */
export function paintOverlay(context: CanvasRenderingContext2D, picture: GraphOverlay): boolean {
  const { width, height, density, colours } = picture;
  const scale: TimeScale = { range: picture.range, width, bends: picture.bends };
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);

  context.fillStyle = colours.grid;
  for (const tick of ticksOf(scale).marks) context.fillRect(Math.round(tick.x), 0, 1, height);

  for (const mark of picture.marks) {
    const from = Math.max(-2, xOfTime(scale, mark.begin));
    const to = Math.min(width + 2, xOfTime(scale, mark.end));
    if (to < 0 || from > width) continue;
    context.fillStyle = colours.mark;
    context.fillRect(from, 0, Math.max(1, to - from), height);
    context.fillStyle = colours.markEdge;
    context.fillRect(Math.round(from), 0, 1, height);
    context.fillRect(Math.round(to), 0, 1, height);
  }

  paintLabels(context, picture, scale);
  paintFolds(context, scale, height, colours);
  const tooMany = paintArrows(context, picture, scale);

  if (picture.rubber) {
    const from = Math.min(picture.rubber.from, picture.rubber.to);
    context.fillStyle = colours.rubber;
    context.fillRect(from, 0, Math.abs(picture.rubber.to - picture.rubber.from), height);
  }
  if (picture.hoverX !== null) {
    context.fillStyle = colours.hover;
    context.fillRect(Math.round(picture.hoverX), 0, 1, height);
  }
  if (picture.at !== null) {
    const x = xOfTime(scale, picture.at);
    context.fillStyle = colours.cursor;
    if (x >= -1 && x <= width + 1) context.fillRect(Math.round(x) - 0.5, 0, 2, height);
  }
  return tooMany;
}

/** A folded stretch: a band over all rows that says how long it is. */
export function paintFolds(
  context: CanvasRenderingContext2D,
  scale: TimeScale,
  height: number,
  colours: Pick<OverlayColours, 'fold' | 'foldEdge' | 'foldText'>,
): void {
  context.font = FOLD_FONT;
  context.textBaseline = 'middle';
  for (const fold of foldsOf(scale)) {
    context.fillStyle = colours.fold;
    context.fillRect(fold.x, 0, fold.width, height);
    context.fillStyle = colours.foldEdge;
    context.fillRect(Math.round(fold.x), 0, 1, height);
    context.fillRect(Math.round(fold.x + fold.width) - 1, 0, 1, height);
    context.save();
    context.translate(fold.x + fold.width / 2, Math.min(FOLD_LABEL, height - 4));
    context.rotate(-Math.PI / 2);
    context.fillStyle = colours.foldText;
    context.fillText(wordDuration(span(fold)), 0, 0.5);
    context.restore();
  }
}

function paintLabels(context: CanvasRenderingContext2D, picture: GraphOverlay, scale: TimeScale): void {
  context.font = LABEL_FONT;
  context.textBaseline = 'middle';
  const sight = rowsInSight(picture.layout, picture.scrollTop, picture.height);
  for (let row = sight.first; row < sight.end; row += 1) {
    const content = picture.content(row);
    if (content.kind !== 'runs' || !content.textOf) continue;
    const top = topOf(picture.layout, row) - picture.scrollTop;
    const tall = heightOf(picture.layout, row);
    for (const label of labelsOfRuns(content.runs, scale, content.textOf)) {
      const ink = content.inkOf(label.run.value);
      const inked = (tall - ROW_AIR) * ink.weight;
      const text = shortened(context, label.text, label.width - 8);
      if (!text) continue;
      // On low states the text stands above the ink, else inside of it.
      const inside = inked >= 12;
      context.fillStyle = inside ? cssColour(textColourOn(ink.colour)) : picture.colours.arrow;
      const y = inside ? top + tall - ROW_AIR / 2 - inked / 2 + 0.5 : top + (tall - inked) / 2 + 0.5;
      if (tall - inked >= 10 || inside) context.fillText(text, label.x + 4, y);
    }
  }
}

function paintArrows(context: CanvasRenderingContext2D, picture: GraphOverlay, scale: TimeScale): boolean {
  if (!picture.arrows) return false;
  const { lines, tooMany } = linesOfArrows(
    picture.arrows.arrows,
    scale,
    picture.layout,
    picture.scrollTop,
    picture.height,
  );
  const crowded = lines.length > 150;
  for (const halo of crowded ? [false] : [true, false]) {
    context.strokeStyle = halo ? picture.colours.arrowHalo : picture.colours.arrow;
    context.fillStyle = picture.colours.arrow;
    context.lineWidth = halo ? 3.5 : 1.3;
    context.globalAlpha = crowded ? 0.55 : 0.9;
    for (const line of lines) {
      context.beginPath();
      context.moveTo(line.fromX, line.fromY);
      context.lineTo(line.toX, line.toY);
      context.stroke();
      if (halo) continue;
      const [leftX, leftY, rightX, rightY] = headOf(line, 6);
      context.beginPath();
      context.moveTo(line.toX, line.toY);
      context.lineTo(leftX, leftY);
      context.lineTo(rightX, rightY);
      context.fill();
    }
  }
  context.globalAlpha = 1;
  return tooMany;
}

const widths = new Map<string, number>();

/** As much of a text as fits, or nothing where hardly any does. */
function shortened(context: CanvasRenderingContext2D, text: string, room: number): string {
  const measured = (part: string) => {
    let width = widths.get(part);
    if (width === undefined) {
      if (widths.size > 5000) widths.clear();
      width = context.measureText(part).width;
      widths.set(part, width);
    }
    return width;
  };
  if (measured(text) <= room) return text;
  const letters = Math.floor((room / measured(text)) * text.length) - 1;
  return letters >= 3 ? `${text.slice(0, letters)}…` : '';
}
