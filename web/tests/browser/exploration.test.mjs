// The view of explorations: on the made-up one, and, with SLOWPATH_SERVER, on what `slowpath serve` shows of one that
// `slowpath explore` made of a known function (scripts/web-test.sh), also while it goes on.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { keepPicture, noBrowser, realServer, settled, startBrowser } from './browser.mjs';

const onlyMock = realServer ? 'for the made-up exploration' : false;
const isExplored =
  realServer && (await (await fetch(`${realServer}/api/recording`)).json()).has_exploration === true;
const onlyReal = isExplored ? false : 'for a server with an exploration';

const panel = (page, name) => page.getByRole('region', { name, exact: true });

describe('an exploration', { skip: noBrowser || onlyMock }, () => {
  let browser;
  before(async () => {
    browser = await startBrowser({ exploration: true });
  });
  after(() => browser?.close());

  test('says what is best, and how far that can be trusted', async () => {
    const page = await browser.open('');
    const head = panel(page, 'The exploration');
    await settled(page);
    assert.deepEqual(
      await page.getByRole('navigation', { name: 'Views' }).getByRole('link').allInnerTexts(),
      ['Exploration'],
    );
    const best = head.getByRole('list', { name: 'The best configuration' });
    assert.deepEqual(await best.getByRole('listitem').allInnerTexts(), [
      'threads 3',
      'page_size 4096',
      'mode shared',
    ]);
    assert.match(await head.innerText(), /117 of 129 planned, 5 failed/);
    assert.match(await head.innerText(), /noise 1\.1 %/);
    assert.match(await head.innerText(), /of \d+ that are equally good, up to 26 % would seem worse/);
    assert.match(await head.innerText(), /\d+ ± [\d.]+ queries\/min/);
    const importance = panel(page, 'Importance of parameters');
    assert.match(await importance.innerText(), /not explained\s+17 %[^]*Not explained is what noise/);
    await head.getByText('The best configuration, ready to use').click();
    await head.getByText('threads = 3').waitFor();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      head.getByRole('button', { name: 'Save parameters.toml' }).click(),
    ]);
    assert.match((await readFile(await file.path())).toString(), /^mode = "shared"\npage_size = 4096\n/);
    assert.deepEqual(page.complaints, []);
  });

  test('an exploration that cannot be read any more is told as that', async () => {
    const page = await browser.open('');
    const head = panel(page, 'The exploration');
    await settled(page);
    const gone = { status: 409, json: { title: 'the store cannot be used', detail: '' } };
    await page.route('**/api/exploration/progress', (route) => route.fulfill(gone));
    await head.getByText('It cannot be read any more (the store cannot be used)').waitFor();
    await page.route('**/api/exploration/progress', (route) => route.abort());
    await head.getByText('The server does not answer').waitFor();
  });

  test('a heat map is walked with the keyboard, and its axes are chosen', async () => {
    const page = await browser.open('');
    const maps = panel(page, 'Heat maps');
    const map = maps.getByRole('grid', { name: 'throughput, page_size 4096' });
    await map.waitFor();
    assert.equal(await maps.getByRole('grid').count(), 3);
    await map.focus();
    // From the first cell: threads 1, private.
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    const tip = page.locator('.tooltip');
    await tip.getByText('threads 3, mode private').waitFor();
    assert.match(await tip.innerText(), /95 % in\s*\d+ to \d+\s*Trials\s*3/);
    await page.keyboard.press('Enter');
    await page.waitForURL(/exploration\?configuration=\d+/);
    const detail = panel(page, 'The selected configuration');
    await detail.getByText('threads=3 page_size=4096 mode=private').waitFor();
    // What was not tried, and what failed, are no colours.
    const cell = (name) => maps.getByRole('gridcell', { name });
    assert.equal(await cell(/^threads 7, mode shared: not tried$/).count(), 3);
    assert.match(
      await maps
        .getByRole('grid', { name: 'throughput, page_size 1024' })
        .getByRole('gridcell', { name: 'threads 6, mode private: 3 trials failed' })
        .getAttribute('class'),
      /is-failed/,
    );
    await maps.getByLabel('Up').selectOption('threads');
    await page.waitForURL(/x=mode&y=threads/);
    await maps.getByRole('checkbox', { name: 'page_size' }).uncheck();
    await maps.getByText('Means over all values of page_size.').waitFor();
    const one = maps.getByRole('grid', { name: 'throughput' });
    const words = await one.getByRole('gridcell', { name: /^mode shared, threads 8/ }).innerText();
    assert.match(words, /mode shared, threads 8: \d+ \(mean of 3 configurations\), 9 trials$/);
    assert.deepEqual(page.complaints, []);
  });

  test('an address with nonsense says so, and a click leads out of it', async () => {
    const page = await browser.open('#/exploration?x=nothing&configuration=4711');
    const maps = panel(page, 'Heat maps');
    await maps.getByRole('alert').waitFor();
    await maps.getByRole('button', { name: 'Choose axes anew' }).click();
    await maps.getByRole('grid').first().waitFor();
    await panel(page, 'The selected configuration').getByText('threads=3 page_size=4096').waitFor();
  });

  test('a stretch of an axis leaves what crosses it, by dragging and by keys', async () => {
    const page = await browser.open('');
    const parallel = panel(page, 'Parallel coordinates');
    const table = page.getByRole('grid', { name: 'Configurations' });
    await settled(page);
    const least = parallel.getByRole('slider', { name: 'Least of threads' });
    assert.equal(await table.getAttribute('aria-rowcount'), '40');
    await least.focus();
    for (let step = 0; step < 6; step += 1) await page.keyboard.press('ArrowUp');
    assert.equal(await least.getAttribute('aria-valuetext'), '8');
    await parallel.getByText('3 of 39 within the brush').waitFor();
    assert.equal(await table.getAttribute('aria-rowcount'), '4');
    await page.keyboard.press('Escape');
    assert.equal(await table.getAttribute('aria-rowcount'), '40');
    await parallel.evaluate((part) => part.scrollIntoView({ block: 'center' }));
    const track = await parallel.locator('.parallel-track').nth(2).boundingBox();
    const middle = track.x + track.width / 2;
    await page.mouse.move(middle, track.y + track.height - 8);
    await page.mouse.down();
    await page.mouse.move(middle, track.y + track.height / 2, { steps: 4 });
    await page.mouse.up();
    await parallel.getByText('18 of 39 within the brush').waitFor();
    await parallel.getByRole('button', { name: 'Clear' }).click();
    assert.equal(await table.getAttribute('aria-rowcount'), '40');
    assert.deepEqual(page.complaints, []);
  });

  test('a row says how it stands and why, and the table is sorted and saved', async () => {
    const page = await browser.open('');
    const table = page.getByRole('grid', { name: 'Configurations' });
    const detail = panel(page, 'The selected configuration');
    await detail.getByText('It has the best mean of the first objective.').waitFor();
    await detail.getByText(/^with threads=8 instead of threads=3/).waitFor();
    await table.getByRole('button', { name: 'memory (MiB)' }).click();
    await table.getByRole('button', { name: 'memory (MiB)' }).click();
    const first = table.getByRole('row').nth(1);
    assert.match(await first.innerText(), /\s1\s+1024\s+shared|\s1\s+65536\s+shared|\s1\s+4096\s+shared/);
    await table.getByRole('button', { name: /^#/ }).click();
    await page.evaluate(() => document.querySelector('.exploration-table .data-table').scrollTo(0, 10_000));
    await table.getByRole('row', { name: /timed-out 3×/ }).click();
    await detail.getByText('All of its trials failed: timed-out 3×.').waitFor();
    await detail
      .getByText(/the workload was not done after 60 s/)
      .first()
      .waitFor();
    const save = panel(page, 'All configurations').getByRole('button', { name: 'Save CSV' });
    const [download] = await Promise.all([page.waitForEvent('download'), save.click()]);
    const csv = (await readFile(await download.path())).toString();
    assert.match(csv, /^#,threads,page_size,mode,throughput \(queries\/min\),±,/);
    assert.deepEqual(page.complaints, []);
  });

  test('front and trials are walked with the keyboard', async () => {
    const page = await browser.open('');
    const front = page.getByRole('listbox', { name: 'memory against throughput' });
    // Nothing lies above what is on the front.
    await front.locator('.scatter-point').first().waitFor({ state: 'attached' });
    const points = await front
      .locator('.scatter-point')
      .evaluateAll((all) => all.map((one) => one.matches('.is-front')));
    assert.deepEqual(points, [...points].sort());
    assert.ok(points.includes(false) && points.includes(true));
    await front.focus();
    await page.keyboard.press('ArrowRight');
    await front.getByRole('option', { name: /threads=1 .* mode=\w+: throughput \d+ ± / }).waitFor();
    const trials = page.getByRole('listbox', { name: 'Trials in time' });
    await trials.focus();
    await page.keyboard.press('ArrowRight');
    await trials.getByRole('option', { name: /^Trial 1, threads=1/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/configuration=1$/);
    await page.getByText(/throughput drifts with time alone: −1\.4 to −0\.4 %/).waitFor();
    await panel(page, 'Trials in time').getByLabel('Objective').selectOption('memory');
    await page.getByText(/No drift of memory is told/).waitFor();
    assert.deepEqual(page.complaints, []);
  });
});

describe('an exploration that slowpath made', { skip: noBrowser || onlyReal }, () => {
  let browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser?.close());

  test('shows the known function while it is still explored', async () => {
    const page = await browser.open('#/exploration');
    const head = panel(page, 'The exploration');
    // The page looks by itself until the end.
    await head.getByText('ended', { exact: true }).waitFor({ timeout: 60_000 });
    await head.getByText('24 of 24 planned').waitFor();
    await settled(page);
    await keepPicture(page, 'exploration-made');
    const best = head.getByRole('list', { name: 'The best configuration' });
    assert.deepEqual(await best.getByRole('listitem').allInnerTexts(), ['a 3', 'b 1']);
    const map = panel(page, 'Heat maps').getByRole('grid');
    for (const [a, b] of [
      [1, 2],
      [3, 1],
      [4, 3],
    ]) {
      const cost = 10 + 5 * (a - 3) ** 2 + b;
      const words = await map
        .getByRole('gridcell', { name: new RegExp(`^a ${a}, b ${b}: `) })
        .locator('.visually-hidden')
        .innerText();
      assert.equal(words, `a ${a}, b ${b}: ${cost.toFixed(2)} ± 0, 2 trials`);
    }
    await head.getByText('The best configuration, ready to use').click();
    await head.getByRole('button', { name: 'start.sh', exact: true }).click();
    await head.getByText('Written by slowpath explore').waitFor();
    assert.deepEqual(page.complaints, []);
  });
});
