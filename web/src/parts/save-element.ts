// Makes files of pictures that are on the page: of a canvas (or several, one above the other) a PNG, of an SVG
// element a text that needs no style sheet. Time graphs are drawn anew for a file (save-picture.ts).
import { saveCanvas, saveText } from './save-file';
import { styleColour } from './theme';

/** The canvases within an element as they lie upon each other, on the panel's colour. */
export function saveCanvasesOf(element: Element | null, name: string): void {
  const canvases = element ? [...element.querySelectorAll('canvas')] : [];
  const first = canvases[0];
  if (!first) return;
  const all = document.createElement('canvas');
  all.width = first.width;
  all.height = first.height;
  const context = all.getContext('2d')!;
  context.fillStyle = styleColour('--panel');
  context.fillRect(0, 0, all.width, all.height);
  for (const canvas of canvases) context.drawImage(canvas, 0, 0);
  saveCanvas(`${name}.png`, all);
}

/** Properties that make a picture, by what is meant without them; an SVG attribute of the same name says each. */
const DRAWN: Readonly<Record<string, string>> = {
  fill: 'rgb(0, 0, 0)',
  'fill-opacity': '1',
  stroke: 'none',
  'stroke-opacity': '1',
  'stroke-width': '1px',
  'stroke-dasharray': 'none',
  'stroke-linejoin': 'miter',
  'paint-order': 'normal',
  opacity: '1',
  'font-family': '',
  'font-size': '',
  'font-weight': '400',
  'text-anchor': 'start',
  'dominant-baseline': 'auto',
};
/** What is drawn itself, rather than holding others. */
const SHAPES = 'path, rect, line, circle, polygon, polyline, text';

export function saveSvgOf(element: Element | null, name: string): void {
  const picture = element instanceof SVGSVGElement ? element : element?.querySelector('svg');
  if (!picture) return;
  const { width, height } = picture.getBoundingClientRect();
  const copy = picture.cloneNode(true) as SVGSVGElement;
  const originals = picture.querySelectorAll(SHAPES);
  copy.querySelectorAll(SHAPES).forEach((shape, index) => {
    const style = window.getComputedStyle(originals[index]!);
    for (const [property, usual] of Object.entries(DRAWN)) {
      const isOfText = /^(font|text|dominant)/.test(property);
      const value = style.getPropertyValue(property);
      if (value === usual || (isOfText && shape.tagName !== 'text')) shape.removeAttribute(property);
      else shape.setAttribute(property, value);
    }
  });
  // Style sheets stay behind, and links lead into the application.
  for (const node of [copy, ...copy.querySelectorAll('*')]) {
    node.removeAttribute('class');
    node.removeAttribute('href');
  }
  const ground = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  ground.setAttribute('width', '100%');
  ground.setAttribute('height', '100%');
  ground.setAttribute('fill', styleColour('--panel'));
  copy.prepend(ground);
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', String(Math.round(width)));
  copy.setAttribute('height', String(Math.round(height)));
  saveText(`${name}.svg`, 'image/svg+xml', new XMLSerializer().serializeToString(copy));
}
