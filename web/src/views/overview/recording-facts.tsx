// What was recorded, in one line, and what one must know before trusting it:
// lost events and diagnostics.
import type { Diagnostic } from '../../model/interface';
import { useRecording } from '../../model/recording';
import { wordCount, wordDuration, wordNumberOf, wordWallClock } from '../../model/wording';

export function RecordingFacts({ requests }: { requests: number | null }) {
  const recording = useRecording();
  const lost = recording.traces.reduce((sum, trace) => sum + trace.lost_events, 0);
  const cpus = recording.hosts.reduce((sum, host) => sum + (host.cpus?.length ?? 0), 0);
  const failed = recording.diagnostics.some((diagnostic) => diagnostic.severity === 'error');
  return (
    <section className="recording-facts" aria-label="The recording">
      <dl>
        {recording.duration_ns > 0 && (
          <>
            <Fact name="Recorded" value={wordWallClock(recording.origin_ns, 0)} />
            <Fact name="Length" value={wordDuration(recording.duration_ns)} />
          </>
        )}
        {recording.hosts.length > 0 && (
          <Fact
            name={recording.hosts.length === 1 ? 'Host' : 'Hosts'}
            value={recording.hosts.map((host) => host.name || `host ${host.id}`).join(', ')}
          />
        )}
        {cpus > 0 && <Fact name="Processors" value={String(cpus)} />}
        <Fact name="Requests" value={requests === null ? '…' : wordCount(requests)} />
        <Fact name="Lost events" value={wordCount(lost)} bad={lost > 0} />
      </dl>
      {recording.diagnostics.length > 0 && (
        <details className="diagnostics" open={failed}>
          <summary className={failed ? 'is-bad' : ''}>
            {wordNumberOf(recording.diagnostics.length, 'note')} on what was read
            {summaryOf(recording.diagnostics)}
          </summary>
          <table>
            <caption className="visually-hidden">Diagnostics</caption>
            <tbody>
              {recording.diagnostics.map((diagnostic, index) => (
                <tr key={index}>
                  <td>
                    <span className={`severity is-${diagnostic.severity}`}>{diagnostic.severity}</span>
                  </td>
                  <td className="mono">{diagnostic.code}</td>
                  <td>
                    {diagnostic.message}
                    {diagnostic.count !== undefined && diagnostic.count > 1
                      ? ` (${wordCount(diagnostic.count)} times)`
                      : ''}
                    {diagnostic.file !== '' && <div className="muted mono">{diagnostic.file}</div>}
                    <div className="muted">What to do: {diagnostic.hint}</div>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </section>
  );
}

function summaryOf(diagnostics: readonly Diagnostic[]): string {
  const told = ['error', 'warning'].flatMap((severity) => {
    const count = diagnostics.filter((diagnostic) => diagnostic.severity === severity).length;
    return count > 0 ? [wordNumberOf(count, severity)] : [];
  });
  return told.length > 0 ? ` (${told.join(', ')})` : '';
}

function Fact({ name, value, bad = false }: { name: string; value: string; bad?: boolean }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className={bad ? 'is-bad' : ''}>{value}</dd>
    </div>
  );
}
