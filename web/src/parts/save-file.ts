// Gives the user a file: a table as text, a picture as PNG. The browser's own download, nothing is sent
// anywhere.

export function saveText(name: string, type: string, text: string): void {
  saveBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

export function saveCanvas(name: string, canvas: HTMLCanvasElement): void {
  canvas.toBlob((blob) => {
    if (blob) saveBlob(name, blob);
  }, 'image/png');
}

export function saveBlob(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
