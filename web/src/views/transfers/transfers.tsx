// What programs receive and never use, as agents for Java told: ranked, and one transfer with its fields. Which one, the
// address says; the first one where it does not.
import { useAnswer } from '../../model/answers';
import type { TransfersReport } from '../../model/interface';
import { adjust, usePlace } from '../../model/place-store';
import { useRecording } from '../../model/recording';
import { wordNumberOf } from '../../model/wording';
import { Answered, EmptyNotice } from '../../parts/notices';
import { Split } from '../../parts/split';
import { TransferDetail } from './transfer-detail';
import { TransferTable, keyOfTransfer } from './transfer-table';
import { wordsLeftOut, wordsOfServices } from './transfer-words';

export function Transfers() {
  return useRecording().transfer_reports > 0 ? <ToldTransfers /> : <NoTransfers />;
}

function ToldTransfers() {
  const answer = useAnswer<TransfersReport>({ path: '/api/transfers' });
  return <Answered answer={answer}>{(report) => <Report report={report} />}</Answered>;
}

function Report({ report }: { report: TransfersReport }) {
  const { filters } = usePlace();
  const rows = report.transfers;
  const selected = rows.find((row) => keyOfTransfer(row) === filters.transfer) ?? rows[0];
  return (
    <div className="view-column">
      <Summary report={report} />
      <div className="view-rest">
        {selected === undefined ? (
          <EmptyNotice title="No object of the application arrived while the agent watched" />
        ) : (
          <Split
            name="Border between the list and the transfer"
            firstShare={0.4}
            upper={
              <TransferTable
                rows={rows}
                onServices={report.services !== null}
                selected={selected}
                onSelect={(row) => adjust({ filters: { transfer: keyOfTransfer(row) } })}
              />
            }
            lower={<TransferDetail transfer={selected} />}
          />
        )}
      </div>
    </div>
  );
}

function Summary({ report }: { report: TransfersReport }) {
  const leftOut = wordsLeftOut(report.left_out);
  const ofServices = report.services === null ? [] : wordsOfServices(report.services);
  return (
    <div className="tool-bar transfers-summary">
      <span>
        {wordNumberOf(report.responses, 'response')} in{' '}
        {report.processes === 1 ? '1 process' : `${report.processes} processes`}
      </span>
      {ofServices.map((words) => (
        <span key={words} className="muted">
          {words}
        </span>
      ))}
      {leftOut.map((words) => (
        <span key={words} className="is-left-out">
          Left out: {words}
        </span>
      ))}
    </div>
  );
}

function NoTransfers() {
  return (
    <EmptyNotice title="No report of transfers in this recording">
      The agent for Java writes one: which fields of what a program receives nothing ever reads. It may be
      opened alone or together with a recording.
    </EmptyNotice>
  );
}
