// Bench, not a test: processor time of a request without the agent, with it and with it recorded, in
// interleaved runs. What is recorded goes through a real session of LTTng; its daemons' time is not counted.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { here, preload, recorded, skip } from './support.mjs';

if (skip) {
  console.error(`SKIPPED: ${skip}`);
  process.exit(0);
}
const RUNS = Number(process.env.RUNS || 9);
const run = (options) =>
  Number(execFileSync(process.execPath, [...options, path.join(here, 'cost-scene.cjs')], { encoding: 'utf8' }));
const results = { 'without agent': [], 'agent, not recorded': [], 'agent, recorded': [] };
for (let i = 0; i < RUNS; i++) {
  results['without agent'].push(run([]));
  results['agent, not recorded'].push(run(['--require', preload]));
  await recorded(() => results['agent, recorded'].push(run(['--require', preload])), { read: false });
}
for (const [name, times] of Object.entries(results)) {
  times.sort((a, b) => a - b);
  const shown = (time) => time.toFixed(1);
  console.log(`${name}: ${shown(times[RUNS >> 1])} µs (${shown(times[0])}–${shown(times.at(-1))})`);
}
