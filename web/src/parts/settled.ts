// A value once it has not changed for a moment: while one zooms or types, not every step is worth a question
// or a new list. The first value is there at once.
import { useEffect, useState } from 'react';

const PAUSE = 200;

export function useSettled<T>(value: T, pause = PAUSE): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), pause);
    return () => window.clearTimeout(timer);
  }, [value, pause]);
  return settled;
}
