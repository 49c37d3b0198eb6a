// Measures how smoothly the threads' time lines move in headless Chromium, against a real server: keys zoom and
// pan twenty times a second while frames are counted. Prints one JSON object; run by `slowpath-benches serve`.
//     SLOWPATH_SERVER=http://… node tests/browser/frames.mjs [HEIGHT]
// HEIGHT in pixels says how many rows are in sight. Not a test: nothing here passes or fails.
import { settled, startBrowser } from './browser.mjs';

const SECONDS = 5;
const height = Number(process.argv[2] ?? 900);
const browser = await startBrowser();
const page = await browser.open('#/threads', { height });
const rows = page.locator('[role="grid"] [role="row"]');
await rows.nth(1).waitFor({ timeout: 60_000 });
await settled(page);
await rows.nth(1).click({ position: { x: 5, y: 5 } });

const heapBegin = await heap();
const counted = page.evaluate(countFrames, SECONDS * 1000);
const moves = ['w', 'w', 'd', 'd', 'd', 'a', 'w', 'd', 's', 'a', 'a', 's', 'd', 's'];
const begin = Date.now();
for (let move = 0; Date.now() - begin < SECONDS * 1000; move += 1) {
  await page.keyboard.press(moves[move % moves.length]);
  await page.waitForTimeout(50);
}
const frames = await counted;
const answer = {
  rows: (await rows.count()) - 1,
  frames_per_second: Math.round((frames.count / SECONDS) * 10) / 10,
  longest_frame_ms: Math.round(frames.longest),
  heap_begin_mb: heapBegin,
  heap_end_mb: await heap(),
};
console.log(JSON.stringify(answer));
await browser.close();

function countFrames(milliseconds) {
  return new Promise((resolve) => {
    const start = performance.now();
    let [count, longest, last] = [0, 0, start];
    const frame = (now) => {
      count += 1;
      longest = Math.max(longest, now - last);
      last = now;
      if (now - start < milliseconds) requestAnimationFrame(frame);
      else resolve({ count, longest });
    };
    requestAnimationFrame(frame);
  });
}

/** Megabytes that scripts hold, after garbage is collected. */
async function heap() {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return Math.round(usedSize / 100_000) / 10;
}
