// Compares what a view looks like with a picture that was looked at and kept (reference/). Both are made small
// first, and a fixed font is laid over the page, so that another machine's text rendering is no difference but a
// missing row is. `npm run accept-pictures` keeps the present pictures as the new references.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const REFERENCES = fileURLToPath(new URL('./reference/', import.meta.url));
const PICTURES = fileURLToPath(new URL('./pictures/', import.meta.url));
const ACCEPTING = process.env.ACCEPT_PICTURES === '1';
/** So many pixels of the page, in each direction, are one of the kept picture. */
const SMALLER = 5;
/** A pixel has changed where red, green or blue differ by more, of 255. */
const LEVELS = 24;
/** A view has changed where more of its pixels have. */
export const TOLERATED = 0.002;

const resolve = createRequire(import.meta.url).resolve;
const FONTS = [400, 600].map((weight) => ({
  weight,
  file: resolve(`@fontsource/inter/files/inter-latin-${weight}-normal.woff2`),
}));
const FONT_STYLES = `${FONTS.map(
  ({ weight }) =>
    `@font-face { font-family: "Test Font"; font-weight: ${weight}; src: url("/test-font/${weight}.woff2"); }`,
).join('\n')}
* { font-family: "Test Font" !important; caret-color: transparent !important; }`;

/** Every page of this context can have the font: from its own origin, as its security policy demands. */
export async function offerFont(context) {
  await context.route('**/test-font/*', (route) => {
    const name = new URL(route.request().url()).pathname.split('/').pop();
    const font = FONTS.find(({ weight }) => name === `${weight}.woff2`);
    return font
      ? route.fulfill({ path: font.file, contentType: 'font/woff2' })
      : route.fulfill({ body: FONT_STYLES, contentType: 'text/css' });
  });
  await context.addInitScript(() => {
    const font = Object.getOwnPropertyDescriptor(CanvasRenderingContext2D.prototype, 'font');
    Object.defineProperty(CanvasRenderingContext2D.prototype, 'font', {
      ...font,
      set(text) {
        font.set.call(this, text.replace(/(\d+px) .*$/, '$1 "Test Font", sans-serif'));
      },
    });
  });
}

export async function useFont(page) {
  await page.addStyleTag({ url: new URL('/test-font/styles.css', page.url()).href });
  await page.evaluate(() =>
    Promise.all(['400', '600'].map((weight) => document.fonts.load(`${weight} 13px "Test Font"`))),
  );
  // What is painted already is painted again.
  const { width, height } = page.viewportSize();
  await page.setViewportSize({ width: width - 40, height });
  await page.setViewportSize({ width, height });
}

/** The share of pixels that differ from the kept picture of this name; 0 where it is being accepted. */
export async function changeSince(page, name, keep = true) {
  const file = `${REFERENCES}${name}.webp`;
  const known = existsSync(file) ? readFileSync(file).toString('base64') : null;
  const taken = (await page.screenshot({ animations: 'disabled' })).toString('base64');
  const blank = await page.context().newPage();
  const told = await blank.evaluate(compareSmall, { taken, known, SMALLER, LEVELS });
  await blank.close();
  if (!keep) return told.changed;
  mkdirSync(PICTURES, { recursive: true });
  writeFileSync(`${PICTURES}${name}.png`, Buffer.from(taken, 'base64'));
  if (ACCEPTING && told.changed > 0) {
    mkdirSync(REFERENCES, { recursive: true });
    writeFileSync(file, Buffer.from(told.small, 'base64'));
    return 0;
  }
  if (told.marked) writeFileSync(`${PICTURES}${name}-changed.webp`, Buffer.from(told.marked, 'base64'));
  return told.changed;
}

/** Runs in a blank page, which can decode, shrink and encode pictures. */
async function compareSmall({ taken, known, SMALLER, LEVELS }) {
  const decoded = async (base64) =>
    createImageBitmap(await (await fetch(`data:image/any;base64,${base64}`)).blob());
  // Of quality 1: without loss.
  const encoded = (canvas) => canvas.toDataURL('image/webp', 1).split(',')[1];
  const drawn = (image, width, height) => {
    const canvas = Object.assign(document.createElement('canvas'), { width, height });
    const context = canvas.getContext('2d', { willReadFrequently: true });
    context.imageSmoothingQuality = 'high';
    context.drawImage(image, 0, 0, width, height);
    return { canvas, context, pixels: context.getImageData(0, 0, width, height) };
  };
  const image = await decoded(taken);
  const width = Math.round(image.width / SMALLER);
  const height = Math.round(image.height / SMALLER);
  const now = drawn(image, width, height);
  const small = encoded(now.canvas);
  if (known === null) return { changed: 1, small, marked: null };
  const before = drawn(await decoded(known), width, height);
  let changed = 0;
  for (let at = 0; at < now.pixels.data.length; at += 4) {
    const differs = [0, 1, 2].some(
      (part) => Math.abs(now.pixels.data[at + part] - before.pixels.data[at + part]) > LEVELS,
    );
    if (!differs) continue;
    changed += 1;
    now.pixels.data.set([255, 0, 255], at);
  }
  now.context.putImageData(now.pixels, 0, 0);
  return { changed: changed / (width * height), small, marked: changed > 0 ? encoded(now.canvas) : null };
}
