// The mouse wheel on an element, as a listener that may prevent scrolling (React's own is passive and may
// not). The handler says whether it used the event.
import { useEffect, useRef, type RefObject } from 'react';

export function useWheel(
  element: RefObject<HTMLElement | null>,
  handler: (event: WheelEvent, x: number, y: number) => boolean,
): void {
  const latest = useRef(handler);
  latest.current = handler;
  useEffect(() => {
    const present = element.current;
    if (!present) return;
    const listen = (event: WheelEvent) => {
      const box = present.getBoundingClientRect();
      if (latest.current(event, event.clientX - box.left, event.clientY - box.top)) {
        event.preventDefault();
      }
    };
    present.addEventListener('wheel', listen, { passive: false });
    return () => present.removeEventListener('wheel', listen);
  }, [element]);
}
