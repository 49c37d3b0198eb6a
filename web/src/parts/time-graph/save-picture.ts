// Saves what a time graph shows, names and axis included: as SVG, or as PNG painted from the same rows.
// Only what is in sight is saved; the picture says its times by its own axis.
import type { Arrow } from '../../draw/arrows';
import { headOf, linesOfArrows } from '../../draw/arrows';
import { PANEL_COLOURS, cssColour, type ThemeName } from '../../draw/colours';
import { layoutRows, topOf, totalHeight, type RowSpan } from '../../draw/row-layout';
import { svgPicture, type SvgRow } from '../../draw/svg-picture';
import { ticksOf } from '../../draw/ticks';
import type { Bends, TimeRange } from '../../draw/time-scale';
import type { Savers } from '../save-buttons';
import { saveCanvas, saveText } from '../save-file';
import { ROW_HEIGHT, type GraphRow, type RowContent } from './graph-types';
import { paintFolds, paintStates } from './paint-graph';

export interface PictureToSave {
  name: string;
  rows: readonly GraphRow[];
  content: (index: number) => RowContent;
  range: TimeRange;
  /** Where time is folded. */
  bends?: Bends | null;
  arrows: readonly Arrow[];
  theme: ThemeName;
  /** Only these rows (those in sight), or all. */
  sight: { rows: RowSpan; width: number } | null;
}

const MOST_ROWS = 300;
const LABELS = 230;
const AXIS = 26;
const DENSITY = 2;

/** What the buttons below a time graph do; the picture is asked for when one is clicked. */
export function graphSavers(picture: () => PictureToSave): Savers {
  return { png: () => savePicture('png', picture()), svg: () => savePicture('svg', picture()) };
}

function savePicture(form: 'png' | 'svg', picture: PictureToSave): void {
  const bends = picture.bends ?? null;
  const first = picture.sight?.rows.first ?? 0;
  const end = Math.min(picture.sight?.rows.end ?? picture.rows.length, first + MOST_ROWS);
  const rows = picture.rows.slice(first, end);
  const width = Math.max(200, Math.round(picture.sight?.width ?? 1000));
  const arrows = picture.arrows
    .filter((arrow) => [arrow.fromRow, arrow.toRow].every((row) => row >= first && row < end))
    .map((arrow) => ({ ...arrow, fromRow: arrow.fromRow - first, toRow: arrow.toRow - first }));
  const colours =
    picture.theme === 'light'
      ? { background: PANEL_COLOURS.light, text: 0x1b2129, muted: 0x59636f, line: 0xe3e6ea }
      : { background: PANEL_COLOURS.dark, text: 0xe4e8ed, muted: 0x9aa5b2, line: 0x2b313a };
  if (form === 'svg') {
    const svgRows = rows.map((row, index): SvgRow => {
      const content = picture.content(first + index);
      return {
        label: row.label,
        depth: row.depth ?? 0,
        height: row.height ?? ROW_HEIGHT,
        heading: row.heading ?? false,
        runs: content.kind === 'runs' ? content.runs : null,
        screen: content.kind === 'screen' ? content.screen : null,
        inkOf: content.kind === 'nothing' ? () => ({ colour: 0, weight: 0 }) : content.inkOf,
      };
    });
    const text = svgPicture(svgRows, { range: picture.range, width, bends }, arrows, colours);
    saveText(`${picture.name}.svg`, 'image/svg+xml', text);
    return;
  }
  const layout = layoutRows(rows.map((row) => row.height ?? ROW_HEIGHT));
  const height = totalHeight(layout);
  const states = document.createElement('canvas');
  states.width = width * DENSITY;
  states.height = height * DENSITY;
  paintStates(states.getContext('2d')!, {
    range: picture.range,
    bends,
    layout,
    scrollTop: 0,
    width,
    height,
    density: DENSITY,
    content: (index) => picture.content(first + index),
    background: colours.background,
  });
  const canvas = document.createElement('canvas');
  canvas.width = (LABELS + width) * DENSITY;
  canvas.height = (height + AXIS) * DENSITY;
  const context = canvas.getContext('2d')!;
  context.scale(DENSITY, DENSITY);
  context.fillStyle = cssColour(colours.background);
  context.fillRect(0, 0, LABELS + width, height + AXIS);
  context.font = '11px system-ui, sans-serif';
  const scale = { range: picture.range, width, bends };
  const ticks = ticksOf(scale);
  for (const tick of ticks.marks) {
    context.fillStyle = cssColour(colours.line);
    context.fillRect(LABELS + Math.round(tick.x), 0, 1, height + AXIS);
    context.fillStyle = cssColour(colours.muted);
    context.fillText(tick.label, LABELS + tick.x + 4, 17);
  }
  context.fillStyle = cssColour(colours.text);
  if (ticks.base !== null) context.fillText(ticks.baseLabel, 8, 17);
  rows.forEach((row, index) => {
    const y = AXIS + topOf(layout, index);
    context.fillStyle = cssColour(colours.line);
    context.fillRect(0, y, LABELS + width, 1);
    context.fillStyle = cssColour(row.heading ? colours.muted : colours.text);
    context.fillText(
      row.label,
      8 + (row.depth ?? 0) * 12,
      y + (row.height ?? ROW_HEIGHT) / 2 + 4,
      LABELS - 16,
    );
  });
  context.drawImage(states, LABELS, AXIS, width, height);
  context.save();
  context.translate(LABELS, AXIS);
  paintFolds(context, scale, height, {
    fold: cssColour(colours.background),
    foldEdge: cssColour(colours.line),
    foldText: cssColour(colours.muted),
  });
  context.restore();
  context.textBaseline = 'alphabetic';
  context.strokeStyle = cssColour(colours.text);
  for (const line of linesOfArrows(arrows, scale, layout, 0, height).lines) {
    const [leftX, leftY, rightX, rightY] = headOf(line, 6);
    context.beginPath();
    context.moveTo(LABELS + line.fromX, AXIS + line.fromY);
    context.lineTo(LABELS + line.toX, AXIS + line.toY);
    context.moveTo(LABELS + leftX, AXIS + leftY);
    context.lineTo(LABELS + line.toX, AXIS + line.toY);
    context.lineTo(LABELS + rightX, AXIS + rightY);
    context.stroke();
  }
  saveCanvas(`${picture.name}.png`, canvas);
}
