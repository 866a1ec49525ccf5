/** A picture of three bytes a pixel: red, green, blue. */
export interface Bitmap {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** A decoded picture, whose pixels are read one by one: `0xRRGGBB`. */
export interface PixelSource {
  readonly width: number;
  readonly height: number;
  readonly read: (x: number, y: number) => number;
}

/** Makes a picture smaller until its longer side has `sideMax` pixels: each pixel is the mean of those that it covers. */
export function scaleDown({ width, height, read }: PixelSource, sideMax: number): Bitmap {
  const scale = Math.min(1, sideMax / Math.max(width, height));
  const columns = Math.max(1, Math.round(width * scale));
  const rows = Math.max(1, Math.round(height * scale));
  const data = new Uint8Array(columns * rows * 3);
  for (let row = 0; row < rows; row += 1) {
    const top = Math.floor((row * height) / rows);
    const bottom = Math.max(top + 1, Math.floor(((row + 1) * height) / rows));
    for (let column = 0; column < columns; column += 1) {
      const left = Math.floor((column * width) / columns);
      const right = Math.max(left + 1, Math.floor(((column + 1) * width) / columns));
      let [red, green, blue] = [0, 0, 0];
      for (let y = top; y < bottom; y += 1) {
        for (let x = left; x < right; x += 1) {
          const color = read(x, y);
          red += color >>> 16;
          green += (color >>> 8) & 255;
          blue += color & 255;
        }
      }
      const count = (bottom - top) * (right - left);
      const at = (row * columns + column) * 3;
      data[at] = toStep(red / count);
      data[at + 1] = toStep(green / count);
      data[at + 2] = toStep(blue / count);
    }
  }
  return { width: columns, height: rows, data };
}

/** Difference of two shades that are kept apart: it cannot be seen, and makes the file a third smaller. */
const STEP = 4;

const toStep = (shade: number): number => Math.min(255, Math.round(shade / STEP) * STEP);

/** Turns a picture as its orientation of Exif says, from 1 to 8; 1 is upright. */
export function turn(bitmap: Bitmap, orientation: number): Bitmap {
  const { width, height, data } = bitmap;
  if (!(orientation >= 2 && orientation <= 8)) return bitmap;
  const isTransposed = orientation >= 5;
  // Exif 2.32, tag 0x0112: the sides of the file's picture at which the shown picture begins.
  const fromRight = [2, 3, 7, 8].includes(orientation);
  const fromBottom = [3, 4, 6, 7].includes(orientation);
  const shown = {
    width: isTransposed ? height : width,
    height: isTransposed ? width : height,
    data: new Uint8Array(data.length),
  };
  for (let y = 0; y < shown.height; y += 1) {
    for (let x = 0; x < shown.width; x += 1) {
      const [column, row] = isTransposed ? [y, x] : [x, y];
      const from =
        ((fromBottom ? height - 1 - row : row) * width +
          (fromRight ? width - 1 - column : column)) *
        3;
      shown.data.set(data.subarray(from, from + 3), (y * shown.width + x) * 3);
    }
  }
  return shown;
}
