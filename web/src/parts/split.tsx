// Two areas above each other with a border that can be moved, by mouse and by keyboard. Keeps the share of
// the upper one while the page is open. The upper one stays the same element when the lower one comes and
// goes, so that it keeps its focus and what it has loaded.
import { useRef, useState, type KeyboardEvent, type PointerEvent, type ReactNode } from 'react';

interface SplitProps {
  name: string;
  firstShare: number;
  upper: ReactNode;
  /** Without it the upper area takes all. */
  lower: ReactNode | null;
}

const remembered = new Map<string, number>();

export function Split({ name, firstShare, upper, lower }: SplitProps) {
  const element = useRef<HTMLDivElement>(null);
  const [share, setShare] = useState(remembered.get(name) ?? firstShare);
  const dragging = useRef(false);
  const set = (next: number) => {
    const kept = Math.min(0.85, Math.max(0.12, next));
    remembered.set(name, kept);
    setShare(kept);
  };
  const onPointerMove = (event: PointerEvent) => {
    const box = element.current?.getBoundingClientRect();
    if (dragging.current && box) set((event.clientY - box.top) / box.height);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowUp') set(share - 0.04);
    else if (event.key === 'ArrowDown') set(share + 0.04);
    else return;
    event.preventDefault();
  };
  return (
    <div ref={element} className="split">
      <div className="split-area" style={{ height: lower === null ? '100%' : `calc(${share * 100}% - 3px)` }}>
        {upper}
      </div>
      {lower !== null && (
        <>
          <div
            className="split-border"
            role="separator"
            aria-orientation="horizontal"
            aria-label={name}
            aria-valuenow={Math.round(share * 100)}
            aria-valuemin={12}
            aria-valuemax={85}
            tabIndex={0}
            onPointerDown={(event) => {
              event.currentTarget.setPointerCapture(event.pointerId);
              dragging.current = true;
            }}
            onPointerMove={onPointerMove}
            onPointerUp={() => {
              dragging.current = false;
            }}
            onKeyDown={onKeyDown}
          />
          <div className="split-area is-rest">{lower}</div>
        </>
      )}
    </div>
  );
}
