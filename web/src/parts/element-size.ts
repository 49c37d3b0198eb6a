// The size of an element in pixels, as it changes. Canvases need it; everything else leaves sizes to
// style sheets.
import { useLayoutEffect, useState, type RefObject } from 'react';

export interface Size {
  width: number;
  height: number;
}

export function useElementSize(element: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const present = element.current;
    if (!present) return;
    const read = () => {
      const width = present.clientWidth;
      const height = present.clientHeight;
      setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    };
    read();
    const observer = new ResizeObserver(read);
    observer.observe(present);
    return () => observer.disconnect();
  }, [element]);
  return size;
}
