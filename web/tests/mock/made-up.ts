// What the made-up recording keeps of threads, requests and processors, beyond what is answered of them.
// Types only: the answers' own types hold the mock to the server's interface.
import type { Interval, Path, Processor, Request, StateName, Thread } from '../../src/model/interface';

export interface Stretch {
  begin_ns: number;
  end_ns: number;
  state: StateName;
  detail: string;
}

export interface MadeThread extends Thread {
  intervals: Stretch[];
  /** The same as numbers of states. */
  values: Interval[];
  works: Interval[];
  /** When it can take up something new. */
  free: number;
}

export interface MadeProcessor extends Processor {
  values: Interval[];
  free: number;
}

export interface MadeRequest extends Request {
  percentile: number;
  path: Path;
}
