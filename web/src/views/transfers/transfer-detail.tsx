// One transfer: what to change, on what that rests, where it is asked for, on which paths of services that lies, and the
// use of each field.
import type { ReactNode } from 'react';
import type { ServicePath, Transfer, TransferredField } from '../../model/interface';
import { wordBytes, wordCount, wordDuration, wordShare } from '../../model/wording';
import { DataTable, type DataColumn } from '../../parts/data-table/data-table';
import { PlaceLink } from '../../parts/place-link';
import { Prose } from '../../parts/prose';
import { Facts } from '../../parts/tooltip';
import { UseBar, UseLegend } from './use-bar';
import { shortClass, useOf, wordNoPath, wordObjects, wordRead } from './transfer-words';

export function TransferDetail({ transfer }: { transfer: Transfer }) {
  const { advice } = transfer;
  return (
    <section className="request-detail" aria-label="The selected transfer">
      <div className="request-head">
        <div className="request-title">
          <h2 title={transfer.class}>
            {shortClass(transfer.class)}{' '}
            <span className="muted">
              from {transfer.endpoint || 'an unknown endpoint'} ({transfer.by})
            </span>
          </h2>
        </div>
        <p className="verdict">
          <strong>{advice.is_needed ? 'Change: ' : 'Note: '}</strong>
          <Prose text={advice.text} />
        </p>
      </div>
      <div className="request-body">
        <aside className="request-facts" aria-label="Facts about the transfer">
          <Facts facts={factsOf(transfer)} />
          <section>
            <h3>Asked for in</h3>
            <CallPath places={transfer.call_path} />
          </section>
          <OnPaths transfer={transfer} />
        </aside>
        <div className="request-lines">
          <DataTable
            key={transfer.rank}
            name="Fields"
            rows={transfer.fields}
            columns={FIELDS}
            keyOf={(field) => field.name}
            saveAs="transfer-fields"
            heading={<UseLegend />}
            empty="The class has no fields"
          />
        </div>
      </div>
    </section>
  );
}

function factsOf(transfer: Transfer): [string, ReactNode][] {
  const bytes = (number: number) => wordBytes(Math.round(number));
  const { wasted_bytes_per_response: wasted, bytes_per_response: all } = transfer;
  const within = transfer.responses_within > 0 ? ` ± ${wordCount(transfer.responses_within)}` : '';
  return [
    [
      'In vain',
      `${bytes(wasted)} of ${bytes(all)} a response, ${bytes(transfer.wasted_bytes_per_second)} a second`,
    ],
    [
      'Responses',
      `${wordCount(transfer.responses)}${within}, ${transfer.responses_per_second.toFixed(1)} a second, with ` +
        `${transfer.objects_per_response.toFixed(1)} objects each`,
    ],
    [
      'Used',
      transfer.utilisation === null ? 'not known' : `${wordShare(transfer.utilisation)} of all fields`,
    ],
    ['Objects', wordObjects(transfer)],
    ['Process', `${transfer.pid}: ${transfer.program || 'program not known'} (${transfer.backend})`],
  ];
}

function CallPath({ places }: { places: readonly string[] }) {
  if (places.length === 0) return <p className="muted">No method of the application was on the stack.</p>;
  return (
    <ol className="call-path mono">
      {places.map((place, index) => (
        <li key={index}>
          <span>
            {place.replace(/\(.*/, '')}
            <wbr />
            {/\(.*/.exec(place)?.[0]}
          </span>
        </li>
      ))}
    </ol>
  );
}

function OnPaths({ transfer }: { transfer: Transfer }) {
  const { paths, no_path: why } = transfer;
  if (paths.length === 0 && why === null) return null;
  return (
    <section>
      <h3>{paths.length === 1 ? 'Path of services' : 'Paths of services'}</h3>
      {why !== null && <p className="muted">None: {wordNoPath(why)}.</p>}
      <ul className="service-paths">
        {paths.map((path) => (
          <li key={path.rank}>
            <OnPath path={path} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function OnPath({ path }: { path: ServicePath }) {
  return (
    <>
      <PlaceLink
        to={{ view: 'services', filters: { show: 'contexts', context: path.path.join(' > ') } }}
        title="Show it among all paths"
      >
        Rank {path.rank}
      </PlaceLink>
      : {wordDuration(path.inclusive)}, {wordShare(path.share)} of all requests' time
      <br />
      <span className="muted">{path.path.join(' › ')}</span>
    </>
  );
}

const FIELDS: DataColumn<TransferredField>[] = [
  { key: 'name', title: 'Field', width: 150, value: (field) => field.name },
  {
    key: 'type',
    title: 'Type',
    width: 110,
    value: (field) => field.type,
    cell: (field) => <span title={field.type}>{shortClass(field.type)}</span>,
  },
  { key: 'read', title: 'Read', width: 178, value: wordRead },
  {
    key: 'use',
    title: 'In how many objects',
    grow: 1,
    value: (field) => field.utilisation?.share ?? -1,
    cell: (field) => <UseBar field={field} />,
  },
  {
    key: 'used',
    title: 'Used',
    width: 70,
    align: 'right',
    value: (field) => field.utilisation?.share ?? -1,
    cell: (field) => (field.utilisation === null ? '' : wordShare(field.utilisation.share)),
  },
  {
    key: 'interval',
    title: '95 % interval',
    width: 116,
    align: 'right',
    value: (field) => field.utilisation?.high ?? -1,
    cell: (field) => {
      const use = useOf(field);
      return use === null ? '' : `${wordShare(use.low)} – ${wordShare(use.high)}`;
    },
  },
  {
    key: 'bytes',
    title: 'Bytes',
    width: 70,
    align: 'right',
    value: (field) => field.bytes,
    cell: (field) => wordBytes(Math.round(field.bytes)),
  },
];
