// Measures what the agent costs an application: processor time for each request without the agent, with
// it and no recording, and recorded; interleaved, median of seven. Not a test: it asserts nothing.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { here, recorded, register, skip } from './support.mjs';

const rounds = 7;
const run = (scene, requires) =>
  Number(execFileSync(process.execPath, [...requires.flatMap((file) => ['--require', file]), path.join(here, 'cost-scene.mjs'), scene]));
const ways = {
  'without agent': async (scene) => run(scene, []),
  'not recorded': async (scene) => run(scene, [register]),
  recorded: async (scene) => {
    let cost;
    await recorded(() => (cost = run(scene, [register])), { read: false });
    return cost;
  },
};
if (skip) delete ways.recorded;

for (const scene of ['spans', 'http']) {
  const costs = Object.fromEntries(Object.keys(ways).map((way) => [way, []]));
  for (let round = 0; round < rounds; round++)
    for (const way of Object.keys(ways)) costs[way].push(await ways[way](scene));
  for (const way of Object.keys(ways)) {
    const sorted = costs[way].sort((a, b) => a - b);
    const micro = (nanoseconds) => (nanoseconds / 1000).toFixed(2);
    console.log(`${scene}: ${way}: ${micro(sorted[3])} µs a request (${micro(sorted[1])}–${micro(sorted[5])})`);
  }
}
