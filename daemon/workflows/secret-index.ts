/** A part of a text that belongs to a secret. */
export type SecretRange = readonly [start: number, end: number];

/** Finds secrets in texts. */
export type SecretIndex = ReturnType<typeof createSecretIndex>;

/**
 * Secrets from this length on are found by pieces of it, so a part of a secret is found as well. Memory is in proportion
 * to the pieces, and a text is searched once for each length up to this one.
 */
const PIECE_CHARACTERS = 32;
/** Minimum length of the end of a text that counts as the beginning of a secret. */
const BEGUN_CHARACTERS_MIN = 4;
/** Multiplier of the second hash, which spreads the bits of the first one (Knuth, TAOCP 6.4). */
const GOLDEN_RATIO = 0x9e_37_79_b1;

/** The pieces of one length in a hash table with open addressing. */
interface Pieces {
  readonly length: number;
  readonly hashes: Int32Array;
  /** The form and the position that have the characters of a piece. */
  readonly forms: Int32Array;
  readonly positions: Int32Array;
  count: number;
  /** Numbers of pieces from 1; 0 for a free slot. */
  readonly slots: Int32Array;
}

/**
 * Indexes the forms of secrets. Searching is a rolling hash (Rabin and Karp): its time is in proportion to the text, for
 * each length of pieces, and does not depend on the number of forms.
 * @param multiplier of the hash, odd and unpredictable to those who choose the forms
 */
export function createSecretIndex(forms: readonly string[], multiplier: number) {
  const tables = collectPieces(forms).map(([length, pieces]) =>
    toTable(length, pieces, forms, multiplier),
  );
  const codeAt = (pieces: Pieces, piece: number, at: number) =>
    (forms[pieces.forms[piece] ?? 0] ?? "").charCodeAt((pieces.positions[piece] ?? 0) + at);

  return {
    /** Returns the parts of a text that belong to secrets, in no order. */
    find: (text: string): SecretRange[] =>
      tables.flatMap((pieces) => search(pieces, text, forms, multiplier)),

    /** Returns how many characters at the end of a text may be the beginning of a secret; 0 for fewer than the minimum. */
    measureBegun(text: string): number {
      const tail = text.slice(-(PIECE_CHARACTERS - 1));
      /** Lengths of the ends of the text that begin with a character, the longest first. */
      const ends = new Map<number, number[]>();
      for (let length = tail.length; length >= BEGUN_CHARACTERS_MIN; length -= 1) {
        const code = tail.charCodeAt(tail.length - length);
        ends.set(code, [...(ends.get(code) ?? []), length]);
      }
      let longest = 0;
      for (const pieces of tables)
        for (let piece = 0; piece < pieces.count; piece += 1)
          for (const length of ends.get(codeAt(pieces, piece, 0)) ?? []) {
            if (length <= longest) break;
            if (length >= pieces.length) continue;
            let same = 1;
            while (
              same < length &&
              codeAt(pieces, piece, same) === tail.charCodeAt(tail.length - length + same)
            )
              same += 1;
            if (same === length) longest = length;
          }
      return longest;
    },
  };
}

/** Where pieces of one length are: numbers of forms, and positions in them. */
interface Places {
  readonly forms: number[];
  readonly positions: number[];
}

function collectPieces(forms: readonly string[]): (readonly [length: number, places: Places])[] {
  const byLength = new Map<number, Places>();
  for (const [form, { length }] of forms.entries()) {
    const pieceLength = Math.min(length, PIECE_CHARACTERS);
    const places = byLength.get(pieceLength) ?? { forms: [], positions: [] };
    byLength.set(pieceLength, places);
    const last = length - pieceLength;
    for (let at = 0; at < last + pieceLength; at += pieceLength) {
      places.forms.push(form);
      // The last piece overlaps the one before, so that both together are the whole form.
      places.positions.push(Math.min(at, last));
    }
  }
  return [...byLength];
}

/** Indexes pieces; of equal ones the first. */
function toTable(
  length: number,
  places: Places,
  forms: readonly string[],
  multiplier: number,
): Pieces {
  const size = places.forms.length;
  const table: Pieces = {
    length,
    hashes: new Int32Array(size),
    forms: new Int32Array(size),
    positions: new Int32Array(size),
    count: 0,
    slots: new Int32Array(2 ** Math.ceil(Math.log2(2 * size + 1))),
  };
  for (const [at, form] of places.forms.entries()) {
    const text = forms[form] ?? "";
    const position = places.positions[at] ?? 0;
    let hash = 0;
    for (let next = position; next < position + length; next += 1)
      hash = (Math.imul(hash, multiplier) + text.charCodeAt(next)) | 0;
    const slot = findSlot(table, hash, forms, text, position);
    if (table.slots[slot] !== 0) continue;
    table.hashes[table.count] = hash;
    table.forms[table.count] = form;
    table.positions[table.count] = position;
    table.count += 1;
    table.slots[slot] = table.count;
  }
  return table;
}

/** Returns the slot of the piece that a text has at a position, or the free slot where it belongs. */
function findSlot(
  pieces: Pieces,
  hash: number,
  forms: readonly string[],
  text: string,
  position: number,
): number {
  const { slots, length } = pieces;
  const mask = slots.length - 1;
  let slot = (Math.imul(hash, GOLDEN_RATIO) >>> 7) & mask;
  for (let piece = slots[slot] ?? 0; piece !== 0; piece = slots[slot] ?? 0) {
    if (pieces.hashes[piece - 1] === hash) {
      const form = forms[pieces.forms[piece - 1] ?? 0] ?? "";
      const start = pieces.positions[piece - 1] ?? 0;
      let same = 0;
      while (same < length && form.charCodeAt(start + same) === text.charCodeAt(position + same))
        same += 1;
      if (same === length) return slot;
    }
    slot = (slot + 1) & mask;
  }
  return slot;
}

function search(
  pieces: Pieces,
  text: string,
  forms: readonly string[],
  multiplier: number,
): SecretRange[] {
  const { length, slots } = pieces;
  let power = 1;
  for (let at = 0; at < length; at += 1) power = Math.imul(power, multiplier);
  const ranges: [start: number, end: number][] = [];
  let hash = 0;
  for (let at = 0; at < text.length; at += 1) {
    hash = (Math.imul(hash, multiplier) + text.charCodeAt(at)) | 0;
    if (at >= length) hash = (hash - Math.imul(text.charCodeAt(at - length), power)) | 0;
    const start = at + 1 - length;
    if (start < 0 || slots[findSlot(pieces, hash, forms, text, start)] === 0) continue;
    const last = ranges.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = at + 1;
    else ranges.push([start, at + 1]);
  }
  return ranges;
}
