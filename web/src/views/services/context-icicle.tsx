// The icicle of calling contexts on a canvas: boxes as wide as their time, callees below their callers,
// coloured by service. The mouse points and selects; the table beside it is its textual form.
import { useEffect, useMemo, useRef, useState } from 'react';
import { cssColour, identityColour, textColourOn, textIdentity } from '../../draw/colours';
import { icicleBoxes, icicleDepth, icicleTree, type IcicleBox } from '../../draw/icicle';
import type { CallingContext } from '../../model/interface';
import { wordCount, wordDuration } from '../../model/wording';
import { useElementSize } from '../../parts/element-size';
import { SaveButtons } from '../../parts/save-buttons';
import { saveCanvasesOf } from '../../parts/save-element';
import { styleColour, useTheme } from '../../parts/theme';
import { Facts, Tooltip } from '../../parts/tooltip';
import { keyOfContext, partsOfCall } from './services';

export type IcicleMeasure = 'inclusive' | 'critical';

interface Source {
  path: readonly string[];
  weight: number;
  context: CallingContext;
}

interface ContextIcicleProps {
  contexts: readonly CallingContext[];
  measure: IcicleMeasure;
  selected: string | null;
  onSelect: (key: string | null) => void;
}

const ROW = 24;

export function ContextIcicle({ contexts, measure, selected, onSelect }: ContextIcicleProps) {
  const element = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const { width } = useElementSize(element);
  const [hover, setHover] = useState<{ box: IcicleBox<Source>; x: number; y: number } | null>(null);
  const tree = useMemo(
    () =>
      icicleTree<Source>(
        contexts.map((context) => ({
          path: context.path,
          weight: measure === 'inclusive' ? context.inclusive : context.critical,
          context,
        })),
      ),
    [contexts, measure],
  );
  const boxes = useMemo(() => icicleBoxes(tree, width), [tree, width]);
  const height = Math.max(1, icicleDepth(tree)) * ROW;

  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context || width < 1) return;
    const density = Math.min(2, window.devicePixelRatio || 1);
    context.canvas.width = Math.round(width * density);
    context.canvas.height = Math.round(height * density);
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = '12px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (const box of boxes) {
      const { service, operation } = partsOfCall(box.node.name);
      const colour = identityColour(theme, textIdentity(service));
      const isSelected = selected === keyOfContext(box.node);
      const y = box.depth * ROW;
      context.fillStyle = cssColour(colour);
      context.globalAlpha = selected === null || isSelected ? 1 : 0.55;
      context.fillRect(box.x, y, Math.max(0.5, box.width - 1), ROW - 1);
      context.globalAlpha = 1;
      if (isSelected) {
        context.strokeStyle = styleColour('--text');
        context.lineWidth = 2;
        context.strokeRect(box.x + 1, y + 1, Math.max(1, box.width - 3), ROW - 3);
      }
      if (box.width > 40) {
        context.save();
        context.beginPath();
        context.rect(box.x, y, box.width - 4, ROW);
        context.clip();
        context.fillStyle =
          selected === null || isSelected ? cssColour(textColourOn(colour)) : styleColour('--text');
        context.fillText(operation ? `${operation} · ${service}` : service, box.x + 6, y + ROW / 2);
        context.restore();
      }
    }
  }, [boxes, width, height, theme, selected]);

  const boxAt = (event: React.MouseEvent) => {
    const area = canvas.current!.getBoundingClientRect();
    const x = event.clientX - area.left;
    const depth = Math.floor((event.clientY - area.top) / ROW);
    return boxes.find((box) => box.depth === depth && x >= box.x && x < box.x + box.width) ?? null;
  };
  return (
    <div className="icicle-scroll">
      <div ref={element}>
        <canvas
          ref={canvas}
          className="icicle"
          style={{ height }}
          role="img"
          aria-label="Icicle of calling contexts; the ranking table has the same in words"
          onMouseMove={(event) => {
            const box = boxAt(event);
            setHover(box ? { box, x: event.clientX, y: event.clientY } : null);
          }}
          onMouseLeave={() => setHover(null)}
          onClick={(event) => {
            const box = boxAt(event);
            const key = box ? keyOfContext(box.node) : null;
            onSelect(key === selected ? null : key);
          }}
        />
      </div>
      <SaveButtons
        what="calling contexts"
        savers={{ png: () => saveCanvasesOf(element.current, 'calling-contexts') }}
      />
      {hover && (
        <Tooltip x={hover.x} y={hover.y}>
          <p className="tooltip-title">{hover.box.node.name}</p>
          {hover.box.node.source ? (
            <ContextFacts context={hover.box.node.source.context} />
          ) : (
            <p className="muted">only calls others</p>
          )}
        </Tooltip>
      )}
    </div>
  );
}

export function ContextFacts({ context }: { context: CallingContext }) {
  return (
    <Facts
      facts={[
        ['Calls', wordCount(context.count)],
        ['Inclusive', wordDuration(context.inclusive)],
        ['Exclusive', wordDuration(context.exclusive)],
        ['Critical', wordDuration(context.critical)],
        ['p50, p99', `${wordDuration(context.inclusive_p50)}, ${wordDuration(context.inclusive_p99)}`],
      ]}
    />
  );
}
