// A search field that waits for a pause in typing before it tells what is searched for.
// What it says follows its value, so that the back button and links work.
import { useEffect, useRef, useState } from 'react';

interface SearchFieldProps {
  label: string;
  placeholder: string;
  value: string;
  onChange: (value: string) => void;
}

const PAUSE = 220;

export function SearchField({ label, placeholder, value, onChange }: SearchFieldProps) {
  const [typed, setTyped] = useState(value);
  const told = useRef(value);
  const tell = useRef(onChange);
  tell.current = onChange;
  useEffect(() => {
    // Changed from elsewhere: the back button, a link.
    if (value !== told.current) {
      told.current = value;
      setTyped(value);
    }
  }, [value]);
  useEffect(() => {
    if (typed === told.current) return;
    const timer = window.setTimeout(() => {
      told.current = typed;
      tell.current(typed.trim());
    }, PAUSE);
    return () => window.clearTimeout(timer);
  }, [typed]);
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={placeholder}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
    />
  );
}
