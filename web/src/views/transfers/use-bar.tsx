// In how many objects a field was used, only printed, and not used, as one bar, with the 95 % interval of the first
// as a line in it. In words for those who point at it or have it read out.
import type { TransferredField } from '../../model/interface';
import { useOf, wordUse } from './transfer-words';

export function UseBar({ field }: { field: TransferredField }) {
  const use = useOf(field);
  if (!use) return <span className="muted">no object is decided</span>;
  const words = wordUse(use);
  return (
    <div className="use-bar" role="img" aria-label={words} title={words}>
      <span className="is-used" style={{ width: `${use.used * 100}%` }} />
      <span className="is-printed" style={{ width: `${use.printed * 100}%` }} />
      <span
        className="use-interval"
        style={{ left: `${use.low * 100}%`, width: `${(use.high - use.low) * 100}%` }}
      />
    </div>
  );
}

export function UseLegend() {
  return (
    <ul className="legend" aria-label="Use of fields and its colours">
      <li>
        <span className="swatch is-used" />
        used
      </li>
      <li title="By toString, hashCode or equals">
        <span className="swatch is-printed" />
        only logged or compared
      </li>
      <li>
        <span className="swatch is-unused" />
        unused
      </li>
      <li title="Where the share of objects in which it is used lies, with 95 % confidence">
        <span className="use-interval-swatch" />
        95 % interval
      </li>
    </ul>
  );
}
