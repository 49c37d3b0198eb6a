// The annotations of the recording's time lines, from the server's findings and losses: asked for once, shared by
// all views. What they are, draw/annotations.ts says.
import { useMemo } from 'react';
import { annotationsOf, type Annotation } from '../draw/annotations';
import { useAnswer } from './answers';
import type { Findings, LostEvents } from './interface';
import { useSharedRange } from './recording';
import { isReport } from './report';

const NONE: readonly never[] = [];

export function useAnnotations(): readonly Annotation[] {
  const { bounds } = useSharedRange();
  const findings = useAnswer<Findings>({ path: '/api/findings' }).value?.findings ?? NONE;
  // A report holds no packets to have lost any.
  const lost = useAnswer<{ lost: LostEvents[] }>(isReport ? null : { path: '/api/lost' }).value?.lost ?? NONE;
  return useMemo(() => annotationsOf(findings, lost, bounds), [findings, lost, bounds]);
}
