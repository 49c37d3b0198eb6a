// Works with the application as a user does: the slowest request within three clicks, links that restore the
// view, zooming by mouse and keyboard, following wake-ups, exports. No message on the console is allowed.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { coloursIn, keepPicture, noBrowser, realServer, settled, startBrowser } from './browser.mjs';

const onlyMock = realServer ? 'for the made-up recording' : false;

describe('the application', { skip: noBrowser }, () => {
  let browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser?.close());

  test('one click from the overview says why the slowest request was slow', async () => {
    const page = await browser.open('#/overview');
    await page.locator('.slowest-link').first().click();
    const detail = page.getByRole('region', { name: 'The selected request' });
    assert.match(await detail.locator('.verdict').innerText(), /\w+ \w+/);
    await detail.getByRole('table', { name: 'Time of the request by state' }).waitFor();
    await settled(page);
    assert.ok((await coloursIn(page, '.request-lines .time-graph canvas')) > 2);
    await keepPicture(page, 'request');
    assert.deepEqual(page.complaints, []);
  });

  test('a finding leads to its evidence', async () => {
    const page = await browser.open('#/overview');
    await page.locator('.evidence-jump').first().click();
    await settled(page);
    assert.match(page.url(), /#\/(requests|threads)\?/);
    assert.deepEqual(page.complaints, []);
  });

  test('a hint stands below what it is about', { skip: onlyMock }, async () => {
    const page = await browser.open('#/overview');
    const finding = page.locator('.finding', { hasText: 'store order waits for the disk' });
    await finding.locator('summary').click();
    const evidence = await finding.getByRole('list', { name: 'Evidence' }).innerText();
    assert.match(evidence, /12 events were lost\s*\n+Hint: record with larger buffers or fewer events$/);
  });

  test('a link to a thread that is not there says so', async () => {
    for (const link of ['#/threads?thread=99999999', '#/threads?tid=4194303']) {
      const page = await browser.open(link);
      await page.getByText('No such thread').waitFor();
      assert.deepEqual(page.complaints, []);
    }
  });

  test('a link restores range, time and selection, and back undoes a selection', async () => {
    const page = await browser.open('#/requests');
    await page
      .locator('.time-graph-row')
      .nth(2)
      .click({ position: { x: 80, y: 10 } });
    await settled(page);
    const link = page.url();
    assert.match(link, /request=\d+/);
    const other = await browser.open(link.slice(link.indexOf('#')));
    await settled(other);
    const title = (each) => each.locator('.request-title').innerText();
    assert.equal(await title(other), await title(page));
    await page.goBack();
    await page.locator('.request-title').waitFor({ state: 'detached' });
  });

  test('what an address says that cannot be is put right in it', async () => {
    const hashOf = (page) => new URL(page.url()).hash;
    for (const range of ['9-1', '5-5', 'NaN-2', '1e3-2e3', '900000000000000-990000000000000']) {
      const page = await browser.open(`#/threads?range=${range}&at=990000000000000`);
      await settled(page);
      assert.equal(hashOf(page), '#/threads', range);
      await page.evaluate(() => {
        window.location.hash = '#/threads?range=9-1&at=-5';
      });
      await page.waitForURL(/#\/threads$/);
      assert.deepEqual(page.complaints, []);
    }
  });

  test('a wait is pointed out as a whole', { skip: onlyMock }, async () => {
    const page = await browser.open('#/overview');
    await page.locator('.slowest-link').first().click();
    await page.locator('.wait-jump').first().click();
    await page.waitForURL(/mark=/);
    // Of a wait that is one piece of the path, that piece says all.
    const words = page.locator('.segment-words');
    assert.doesNotMatch(await words.innerText(), /pointed out/);
    const { hash } = new URL(page.url());
    const begin = Number(/mark=(\d+)/.exec(hash)[1]);
    await page.getByRole('button', { name: 'Segment after' }).click();
    await page.waitForURL((address) => !address.hash.includes(`at=${begin}`));
    const after = Number(/at=(\d+)/.exec(new URL(page.url()).hash)[1]);
    const longer = await browser.open(hash.replace(/mark=[\d-]+/, `mark=${begin}-${after + 1000}`));
    await longer.locator('.segment-words').getByText('pointed out').waitFor();
    await longer.getByRole('button', { name: 'Segment after' }).click();
    await longer.locator('.segment-words').getByText('pointed out').waitFor({ state: 'detached' });
    assert.deepEqual([page.complaints, longer.complaints], [[], []]);
  });

  test('search, sort and percentiles narrow the list', { skip: onlyMock }, async () => {
    const page = await browser.open('#/requests');
    await settled(page);
    const grid = page.getByRole('grid', { name: 'Requests and their critical paths' });
    const rows = async () => Number(await grid.getAttribute('aria-rowcount')) - 1;
    const all = await rows();
    await page.getByLabel('Search requests').fill('store order');
    await page.waitForURL(/text=store/);
    await settled(page);
    const found = await rows();
    assert.ok(found > 0 && found < all, `${found} of ${all}`);
    await page.getByLabel('Durations').selectOption('90-100');
    await settled(page);
    assert.ok((await rows()) < found);
    await grid.getByRole('button', { name: 'Duration' }).click();
    assert.match(page.url(), /order=asc/);
    assert.deepEqual(page.complaints, []);
  });

  test('two groups are compared', { skip: onlyMock }, async () => {
    const page = await browser.open('#/requests');
    await page.getByRole('button', { name: 'Compare' }).click();
    const table = page.getByRole('grid', { name: 'Differences, mean per request' });
    await table.waitFor();
    // What the slow ones have more of is more, as the sum above the table says.
    assert.match(await table.locator('[role=row]').nth(1).innerText(), /Preempted[^]*\+\d/);
    assert.deepEqual(page.complaints, []);
  });

  test('requests are marked with the keyboard, and compared', { skip: onlyMock }, async () => {
    const page = await browser.open('#/requests');
    const grid = page.getByRole('grid', { name: 'Requests and their critical paths' });
    await grid.focus();
    for (const key of ['ArrowDown', ' ', 'ArrowDown', ' ']) {
      await page.keyboard.press(key);
      await settled(page);
    }
    await page.getByRole('button', { name: 'Compare (2 marked)' }).click();
    const panel = page.getByRole('region', { name: 'Comparison' });
    await panel.getByText('on average in 2 requests').waitFor();
    await keepPicture(page, 'comparison');
    assert.deepEqual(page.complaints, []);
  });

  test('the keyboard zooms, pans and shows all', async () => {
    const page = await browser.open('#/threads');
    await settled(page);
    const shown = () => page.locator('.range-facts span').first().innerText();
    const all = await shown();
    await page.getByRole('grid', { name: 'Processors and threads over time' }).focus();
    await page.keyboard.press('w');
    await page.keyboard.press('w');
    const near = await shown();
    assert.notEqual(near, all);
    await page.keyboard.press('d');
    assert.equal(await shown(), near);
    await page.waitForURL(/range=/);
    await page.keyboard.press('0');
    assert.equal(await shown(), all);
    await page.keyboard.press('ArrowDown');
    await page.waitForURL(/thread=/);
    assert.deepEqual(page.complaints, []);
  });

  test('the mouse zooms by wheel, drags, and zooms into a stretch of the axis', async () => {
    const page = await browser.open('#/threads');
    await settled(page);
    const box = await page.locator('.time-graph-canvas').boundingBox();
    const range = () =>
      new URL(page.url()).hash
        .match(/range=(\d+)-(\d+)/)
        ?.slice(1)
        .map(Number);
    // The address follows a moment after the picture, later on a busy machine.
    const moved = async (act) => {
      const before = page.url();
      await act();
      await page.waitForURL((address) => address.href !== before);
      await settled(page);
    };
    await page.mouse.move(box.x + box.width / 2, box.y + 60);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -500);
    await page.keyboard.up('Control');
    await page.waitForURL(/range=/);
    await settled(page);
    const zoomed = range();
    await moved(async () => {
      await page.mouse.down();
      await page.mouse.move(box.x + box.width / 2 - 200, box.y + 60, { steps: 4 });
      await page.mouse.up();
    });
    const dragged = range();
    assert.ok(dragged[0] > zoomed[0], `${dragged} is later than ${zoomed}`);
    assert.ok(Math.abs(dragged[1] - dragged[0] - (zoomed[1] - zoomed[0])) <= 2);
    const axis = await page.locator('.time-axis').boundingBox();
    await page.mouse.move(axis.x + 200, axis.y + 10);
    await moved(async () => {
      await page.mouse.down();
      await page.mouse.move(axis.x + 300, axis.y + 10, { steps: 4 });
      await page.mouse.up();
    });
    assert.ok(range()[1] - range()[0] < dragged[1] - dragged[0]);
    assert.deepEqual(page.complaints, []);
  });

  test('a thread is followed to who woke it', { skip: onlyMock }, async () => {
    const page = await browser.open('#/threads?range=1295000000-1325000000&thread=8&at=1312000000');
    const detail = page.getByRole('region', { name: 'The selected thread' });
    await detail.getByRole('button', { name: 'who woke it' }).click();
    await page.waitForURL((url) => !/thread=8(&|$)/.test(url.hash));
    await settled(page);
    await detail.getByRole('button', { name: 'Critical path' }).click();
    await detail.getByRole('grid', { name: /Critical path of thread/ }).waitFor();
    await keepPicture(page, 'thread');
    assert.deepEqual(page.complaints, []);
  });

  test('events follow the selected time, and grow when scrolled', async () => {
    const page = await browser.open('#/events');
    await settled(page);
    const table = page.getByRole('grid', { name: 'Events' });
    await table.locator('[role=row]').nth(5).click();
    await page.waitForURL(/at=\d+/);
    const height = () => page.locator('.event-space').evaluate((space) => space.clientHeight);
    const first = await height();
    await table.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await settled(page);
    assert.ok((await height()) >= first);
    assert.deepEqual(page.complaints, []);
  });

  const saver = (page) => async (button) => {
    const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
    return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
  };

  test('a box of the map of services leads to its requests', { skip: onlyMock }, async () => {
    const page = await browser.open('#/services');
    const saved = saver(page);
    const map = page.getByRole('group', { name: /^Map of services/ });
    await map.waitFor();
    const svg = (await saved(page.getByRole('button', { name: 'Save SVG' }))).bytes.toString();
    assert.match(svg, /^<svg [\s\S]*fill="rgb[\s\S]*>inventory<[\s\S]*<\/svg>$/);
    assert.doesNotMatch(svg, /class=|href=/);
    const table = page.getByRole('group', { name: 'Save calls between services' });
    const csv = (await saved(table.getByRole('button'))).bytes.toString();
    assert.match(csv, /^Caller,Called,Calls,[^\n]*\r\nfrontend,orders,597,/);
    await map.getByRole('link', { name: /^orders *597 · .* failed$/ }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/requests\?service=orders/);
    assert.deepEqual(page.complaints, []);
  });

  test('what stands out of the data store leads to when it was', { skip: onlyMock }, async () => {
    const page = await browser.open('#/store');
    await page.getByText('eval held up 3 other clients').waitFor();
    await page.getByRole('link', { name: 'Show it' }).click();
    await page.waitForURL(/range=\d+-\d+&at=\d+/);
    await settled(page);
    const grid = page.getByRole('grid', { name: 'Event loops, threads and connections over time' });
    assert.equal(Number(await grid.getAttribute('aria-rowcount')) - 1, 9);
    // Nearly all of that time it was busy, and bytes are there when they are asked for.
    const chart = page.getByRole('img', { name: /^Servers in the shown time/ });
    assert.match(await chart.getAttribute('aria-label'), /\d+ % busy, up to 4 clients waiting/);
    await page.getByRole('button', { name: 'Bytes' }).click();
    await page.getByRole('img', { name: /to clients, .* from them/ }).waitFor();
    await page.getByRole('button', { name: 'Slowest commands' }).click();
    const slowest = page.getByRole('grid', { name: 'Slowest commands' });
    assert.match(await slowest.locator('.data-table-row').first().innerText(), /^eval\s+48/);
    await page.getByRole('button', { name: 'By command' }).click();
    await page.waitForURL(/colour=commands/);
    await settled(page);
    assert.ok((await coloursIn(page, 'main .time-graph canvas')) > 3);
    assert.deepEqual(page.complaints, []);
  });

  test(
    'a command is followed by arrows, and to what the event loop did meanwhile',
    { skip: onlyMock },
    async () => {
      const page = await browser.open('#/store?show=slowest&range=2000000000-2060000000');
      const saved = saver(page);
      const bar = page.locator('.graph-bar').first();
      const lines = async () => {
        const svg = (await saved(bar.getByRole('button', { name: 'Save SVG' }))).bytes.toString();
        return svg.match(/<polyline/g)?.length ?? 0;
      };
      await settled(page);
      // Each is read and answered, some by another thread than the one that executes.
      const shown = await lines();
      assert.ok(shown > 20, `${shown} arrows`);
      await page.getByRole('button', { name: 'Arrows' }).click();
      await page.waitForURL(/arrows=no/);
      assert.equal(await lines(), 0);
      const slowest = page.getByRole('grid', { name: 'Slowest commands' });
      await slowest.locator('.data-table-row', { hasText: 'get' }).first().click();
      const detail = page.getByRole('region', { name: 'The selected command' });
      assert.match(await detail.locator('.state-table').innerText(), /Executing eval of others\s+4\d/);
      await detail.getByRole('button', { name: 'Close the command' }).click();
      await detail.waitFor({ state: 'detached' });
      assert.deepEqual(page.complaints, []);
    },
  );

  test('what threads did to a connection is told in order', { skip: onlyMock }, async () => {
    const page = await browser.open('#/store?show=operations&range=2060000000-2080000000');
    await settled(page);
    const table = page.getByRole('grid', { name: 'What threads did to connections' });
    const rows = await table.locator('.data-table-row').allInnerTexts();
    assert.match(rows[0], /client 12[\s\S]*main 300\s+read_postponed/);
    assert.match(rows[1], /client 12[\s\S]*I\/O 305\s+ssl_read\s+16\sKiB\s+34\sB/);
    await page.getByText('in the hands of several threads').click();
    await page.getByText('ssl_read asked 16384 B, got 34, 0 pending').waitFor();
    await page.getByRole('row', { name: 'what threads did to it' }).waitFor();
    assert.deepEqual(page.complaints, []);
  });

  test('a mark on the time line leads to its finding', { skip: onlyMock }, async () => {
    const page = await browser.open('#/threads');
    await page.locator('.annotation.is-lost[title="12 events lost"]').waitFor();
    const mark = page.getByRole('link', { name: /^Finding: Requests wait for a lock/ });
    await mark.focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/overview\?finding=1/);
    const finding = page.locator('.finding.is-pointed-at');
    assert.match(await finding.innerText(), /Do not hold the lock/);
    assert.deepEqual(page.complaints, []);
  });

  test('waiting is folded, and places keep their times', { skip: onlyMock }, async () => {
    const page = await browser.open('#/threads?text=GC');
    await settled(page);
    const box = await page.locator('.time-graph-canvas').boundingBox();
    const row = page.locator('.time-graph-row').last();
    const timeAt = async (x) => {
      const { y, height } = await row.boundingBox();
      const before = page.url();
      await page.mouse.click(box.x + x, y + height / 2);
      await page.waitForURL((url) => /at=\d+/.test(url.href) && url.href !== before);
      await settled(page);
      return Number(/at=(\d+)/.exec(page.url())[1]);
    };
    const even = await timeAt(330);
    await page.getByRole('button', { name: 'Fold waiting' }).click();
    await page.waitForURL(/fold=yes/);
    await settled(page);
    const folded = await timeAt(330);
    assert.ok(Math.abs(folded - even) > 50_000_000, `${even} even, ${folded} folded`);
    // The thread runs wherever time is not folded: what is under the pointer says so.
    await page.mouse.move(box.x + 330, (await row.boundingBox()).y + 10);
    assert.match(await page.locator('.tooltip').innerText(), /Running/);
    const ticks = () => page.locator('.time-axis-tick').allInnerTexts();
    const before = await ticks();
    await page.getByRole('grid', { name: 'Processors and threads over time' }).focus();
    await page.keyboard.press('w');
    await settled(page);
    assert.notDeepEqual(await ticks(), before);
    assert.deepEqual(page.complaints, []);
  });

  test('every picture is saved', { skip: onlyMock }, async () => {
    for (const [hash, what, form] of [
      ['#/overview', 'the distribution', 'SVG'],
      ['#/threads', 'CPU use', 'PNG'],
      ['#/threads?io=yes', 'input and output', 'PNG'],
      ['#/services?show=contexts', 'calling contexts', 'PNG'],
      ['#/services?show=contexts', 'the plot', 'PNG'],
    ]) {
      const page = await browser.open(hash);
      await settled(page);
      const group = page.getByRole('group', { name: `Save ${what}` });
      const { bytes } = await saver(page)(group.getByRole('button', { name: form }));
      assert.match(bytes.subarray(0, 4).toString('latin1'), form === 'PNG' ? /PNG/ : /^<svg/, what);
      assert.ok(bytes.length > 500, `${what}: ${bytes.length} bytes`);
      assert.deepEqual(page.complaints, []);
    }
  });

  test('pictures and tables are saved', { skip: onlyMock }, async () => {
    const page = await browser.open('#/requests?request=712');
    const saved = saver(page);
    const detail = page.getByRole('region', { name: 'The selected request' });
    await detail.locator('canvas').first().waitFor();
    await settled(page);
    const svg = await saved(detail.getByRole('button', { name: 'Save SVG' }));
    assert.equal(svg.name, 'request-712.svg');
    assert.match(svg.bytes.toString(), /^<svg [\s\S]*<rect[\s\S]*<\/svg>$/);
    const png = await saved(detail.getByRole('button', { name: 'Save PNG' }));
    assert.equal(png.bytes.subarray(1, 4).toString(), 'PNG');
    await detail.getByRole('button', { name: 'Table' }).click();
    const csv = await saved(detail.getByRole('button', { name: 'Save CSV' }));
    assert.match(csv.bytes.toString(), /^Begin,Duration,State,Thread,Detail\r\n\d+,\d+,/);
    assert.deepEqual(page.complaints, []);
  });

  test('the theme can be chosen, and is kept', { skip: onlyMock }, async () => {
    const page = await browser.open('#/overview');
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    assert.equal(await theme(), 'light');
    await page.getByRole('button', { name: 'Colours' }).click();
    await page.getByRole('button', { name: 'Colours' }).click();
    assert.equal(await theme(), 'dark');
    await page.reload();
    assert.equal(await theme(), 'dark');
  });

  test(
    'panning keeps drawing (how fast is printed, not held to a number: machines differ)',
    { skip: onlyMock },
    async () => {
      const page = await browser.open('#/threads');
      await settled(page);
      const box = await page.locator('.time-graph-canvas').boundingBox();
      await page.mouse.move(box.x + 600, box.y + 80);
      await page.keyboard.down('Control');
      await page.mouse.wheel(0, -700);
      await page.keyboard.up('Control');
      await settled(page);
      const frames = page.evaluate(
        () =>
          new Promise((resolve) => {
            const began = performance.now();
            let count = 0;
            const tick = () => {
              count += 1;
              if (performance.now() - began < 1500) requestAnimationFrame(tick);
              else resolve((count * 1000) / (performance.now() - began));
            };
            requestAnimationFrame(tick);
          }),
      );
      await page.mouse.down();
      for (let step = 0; step < 60; step += 1) {
        await page.mouse.move(box.x + 600 - step * 4, box.y + 80);
        await page.waitForTimeout(16);
      }
      await page.mouse.up();
      const rate = await frames;
      console.log(`# ${rate.toFixed(0)} frames a second while panning`);
      assert.deepEqual(page.complaints, []);
    },
  );
});

describe('while analyses run', { skip: noBrowser || onlyMock }, () => {
  test('views say how far they are, then show what was found', async () => {
    const browser = await startBrowser({ slow: true });
    try {
      const page = await browser.open('#/overview');
      await page.getByText('Looking for what slows requests down').waitFor();
      await page.locator('.jobs-chip').waitFor();
      await keepPicture(page, 'waiting');
      browser.release();
      await page.locator('.finding').first().waitFor();
      await page.locator('.jobs-chip').waitFor({ state: 'detached' });
      assert.deepEqual(page.complaints, []);
    } finally {
      await browser.close();
    }
  });
});
