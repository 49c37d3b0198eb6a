// Bench, not a test: processor time of a request without the agent, with it and with it recorded, in
// interleaved runs. What is recorded goes through a real session of LTTng; its daemons' time is not counted.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { here, preload, quietRedisServer, recorded, skip } from './support.mjs';

if (skip) {
  console.error(`SKIPPED: ${skip}`);
  process.exit(0);
}
const RUNS = Number(process.env.RUNS || 9);
const redis = await quietRedisServer();
const scenes = {
  'Two services with Express and ioredis': ['cost-shop.cjs', redis.port],
  'Two services that do nothing, and who asks them': ['cost-scene.cjs'],
};
for (const [title, [scene, ...rest]] of Object.entries(scenes)) {
  const run = (options) => {
    const words = [...options, path.join(here, scene), ...rest.map(String)];
    return Number(execFileSync(process.execPath, words, { encoding: 'utf8' }));
  };
  const results = { 'without agent': [], 'agent, not recorded': [], 'agent, recorded': [] };
  for (let i = 0; i < RUNS; i++) {
    results['without agent'].push(run([]));
    results['agent, not recorded'].push(run(['--require', preload]));
    await recorded(() => results['agent, recorded'].push(run(['--require', preload])), { read: false });
  }
  console.log(title);
  const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];
  const bare = median(results['without agent']);
  for (const [name, times] of Object.entries(results)) {
    const more = `${((median(times) / bare - 1) * 100).toFixed(1)} %`;
    const shown = (time) => time.toFixed(1);
    console.log(`  ${name}: ${shown(median(times))} µs (${shown(times[0])}–${shown(times.at(-1))}), ${more} more`);
  }
}
await redis.stop();
