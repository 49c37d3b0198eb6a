// A button that copies a text and says whether it could: browsers let only pages of this machine, or encrypted ones,
// do so. Files are save-file.ts's.
import { useEffect, useState } from 'react';

/** Copies a text, and says for a moment that it did. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [said, setSaid] = useState('');
  useEffect(() => {
    if (said === '') return;
    const timer = window.setTimeout(() => setSaid(''), 2500);
    return () => window.clearTimeout(timer);
  }, [said]);
  const copy = () => {
    // Only where the page comes from this machine, or encrypted, a browser lets it copy.
    const copied = window.navigator.clipboard?.writeText(text) ?? Promise.reject(new Error());
    copied.then(
      () => setSaid('Copied'),
      () => setSaid('The browser forbids it: select the text'),
    );
  };
  return (
    <>
      <button type="button" onClick={copy} aria-label={`Copy ${what}`}>
        Copy
      </button>
      <span className="muted" role="status">
        {said}
      </span>
    </>
  );
}
