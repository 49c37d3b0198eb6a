// The best configuration as files, as `slowpath explore` has written them; before its end, the values alone.
// Each can be copied or saved.
import { useState } from 'react';
import type { Recommended } from '../../model/interface';
import { CopyButton } from '../../parts/copy-button';
import { saveText } from '../../parts/save-file';

export function RecommendedFiles({ recommended }: { recommended: Recommended | null }) {
  const [chosen, setChosen] = useState('');
  if (recommended === null) return null;
  const file = recommended.files.find(({ path }) => path === chosen) ?? recommended.files[0];
  if (!file) return null;
  const name = file.path.slice(file.path.lastIndexOf('/') + 1);
  return (
    <details className="recommended">
      <summary>
        The best configuration, ready to use{' '}
        <span className="muted">
          {recommended.folder ?? 'its values so far; the other files are written at the end'}
        </span>
      </summary>
      <div className="recommended-bar">
        {recommended.files.length > 1 && (
          <span className="choice" role="group" aria-label="Files of the best configuration">
            {recommended.files.map(({ path }) => (
              <button
                key={path}
                type="button"
                aria-pressed={path === file.path}
                onClick={() => setChosen(path)}
              >
                {path}
              </button>
            ))}
          </span>
        )}
        <CopyButton text={file.text} what={file.path} />
        <button
          type="button"
          aria-label={`Save ${file.path}`}
          onClick={() => saveText(name, 'text/plain', file.text)}
        >
          Save
        </button>
      </div>
      <pre className="recommended-text mono" tabIndex={0} aria-label={file.path}>
        {file.text}
      </pre>
    </details>
  );
}
