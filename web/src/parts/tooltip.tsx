// A box of facts beside the pointer, kept inside the window. It repeats what can also be selected and read
// elsewhere; it takes no pointer events and is hidden from screen readers.
import { useLayoutEffect, useRef, useState, type ReactNode } from 'react';
import { createPortal } from 'react-dom';

interface TooltipProps {
  x: number;
  y: number;
  children: ReactNode;
}

const AWAY = 14;

export function Tooltip({ x, y, children }: TooltipProps) {
  const element = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ left: x + AWAY, top: y + AWAY });
  useLayoutEffect(() => {
    const present = element.current;
    if (!present) return;
    const { width, height } = present.getBoundingClientRect();
    const left = x + AWAY + width > window.innerWidth - 8 ? x - AWAY - width : x + AWAY;
    const top = y + AWAY + height > window.innerHeight - 8 ? y - AWAY - height : y + AWAY;
    setPlace({ left: Math.max(8, left), top: Math.max(8, top) });
  }, [x, y, children]);
  return createPortal(
    <div ref={element} className="tooltip" aria-hidden="true" style={place}>
      {children}
    </div>,
    document.body,
  );
}

export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
