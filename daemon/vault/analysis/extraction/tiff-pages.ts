/** Tag of a TIFF directory entry with the kind of the image (TIFF 6.0, NewSubfileType). */
const SUBFILE_TYPE = 254;
/** Bit of `SUBFILE_TYPE` for a smaller copy of another image, such as a thumbnail. */
const IS_REDUCED = 1;
const ENTRY_BYTES = 12;
const CLASSIC = 42;

/** The directories of a TIFF file, one for each page. */
export interface TiffPages {
  readonly offsets: readonly number[];
  /** The file ends before the directory of a page. */
  readonly isCutOff: boolean;
}

/**
 * Lists the pages of a TIFF file in order, without thumbnails; at most `max`. A directory that was seen before ends the list.
 * Empty for files of another format, BigTIFF included.
 */
export function listTiffPages(bytes: Uint8Array, max: number): TiffPages {
  const { view, isLittle } = open(bytes);
  if (view === undefined || view.getUint16(2, isLittle) !== CLASSIC)
    return { offsets: [], isCutOff: false };
  const offsets: number[] = [];
  const visited = new Set<number>();
  let at = view.getUint32(4, isLittle);
  while (at !== 0 && !visited.has(at) && offsets.length < max) {
    visited.add(at);
    if (at + 2 > bytes.length) return { offsets, isCutOff: true };
    const end = at + 2 + view.getUint16(at, isLittle) * ENTRY_BYTES;
    if (end + 4 > bytes.length) return { offsets, isCutOff: true };
    if (!isThumbnail(view, { at, end, isLittle })) offsets.push(at);
    at = view.getUint32(end, isLittle);
  }
  return { offsets, isCutOff: false };
}

/** Makes the directory at `offset` the first one of a TIFF file, which readers of a single picture read. Changes `bytes`. */
export function selectTiffPage(bytes: Uint8Array, offset: number): void {
  const { view, isLittle } = open(bytes);
  view?.setUint32(4, offset, isLittle);
}

function isThumbnail(
  view: DataView,
  { at, end, isLittle }: { at: number; end: number; isLittle: boolean },
): boolean {
  for (let entry = at + 2; entry < end; entry += ENTRY_BYTES)
    if (view.getUint16(entry, isLittle) === SUBFILE_TYPE)
      return (view.getUint32(entry + 8, isLittle) & IS_REDUCED) !== 0;
  return false;
}

function open(bytes: Uint8Array): { readonly view?: DataView; readonly isLittle: boolean } {
  const order = String.fromCharCode(bytes[0] ?? 0, bytes[1] ?? 0);
  if (bytes.length < 8 || (order !== "II" && order !== "MM")) return { isLittle: false };
  return {
    view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    isLittle: order === "II",
  };
}
