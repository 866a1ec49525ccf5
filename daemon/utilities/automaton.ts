/** One state of a pattern. A pattern starts in its first state; it matches when a text ends behind its last one. */
export interface PatternState {
  /** The characters, as code points, that lead to the next state; absent for a state that no character leaves. */
  readonly accepts?: ((codePoint: number) => boolean) | undefined;
  /** Whether an accepted character also stays in this state. */
  readonly repeats?: boolean;
  /** Positions of later states that are reached without a character. */
  readonly skips?: readonly number[];
}

/** Maximum number of characters whose states are cached per pattern. */
const CACHED_CHARACTERS_MAX = 512;
const BITS = 32;
/** Shifts that together spread a bit over a word. */
const SPREAD = [1, 2, 4, 8, 16] as const;

/**
 * Compiles a pattern to a matcher of whole texts. It simulates the automaton with one bit per state and never backtracks:
 * a character costs at most one step per state, whatever the pattern and the text are.
 */
export function compileAutomaton(states: readonly PatternState[]): (text: string) => boolean {
  const words = Math.ceil((states.length + 1) / BITS);
  const repeating = toBits(words, states, ({ repeats }) => repeats === true);
  const addSkipped = createSkipper(words, states);
  const start = new Int32Array(words);
  setBit(start, 0);
  addSkipped(start);

  const acceptors = new Map<number, Int32Array>();
  /** Returns the states that a character leaves. */
  const acceptorsOf = (codePoint: number): Int32Array => {
    const cached = acceptors.get(codePoint);
    if (cached !== undefined) return cached;
    const bits = toBits(words, states, ({ accepts }) => accepts?.(codePoint) === true);
    if (acceptors.size < CACHED_CHARACTERS_MAX) acceptors.set(codePoint, bits);
    return bits;
  };

  return (text) => {
    const active = Int32Array.from(start);
    for (let at = 0; at < text.length; at += 1) {
      const codePoint = text.codePointAt(at) ?? 0;
      if (codePoint > 0xff_ff) at += 1;
      const accepting = acceptorsOf(codePoint);
      let carry = 0;
      let union = 0;
      for (let word = 0; word < words; word += 1) {
        const moving = (active[word] ?? 0) & (accepting[word] ?? 0);
        const next = (moving << 1) | carry | (moving & (repeating[word] ?? 0));
        carry = moving >>> (BITS - 1);
        active[word] = next;
        union |= next;
      }
      if (union === 0) return false;
      addSkipped(active);
    }
    return hasBit(active, states.length);
  };
}

/** Returns a function that adds the states that are reached without a character. */
function createSkipper(
  words: number,
  states: readonly PatternState[],
): (active: Int32Array) => void {
  const toNext = (skips: readonly number[] = [], position: number) => skips.includes(position + 1);
  const near = toBits(words, states, ({ skips }, position) => toNext(skips, position));
  const far = toBits(words, states, ({ skips }, position) =>
    (skips ?? []).some((target) => target !== position + 1),
  );
  // For each word and shift: the bits that a shift reaches through a run of states that each skip to the next.
  const runs = Int32Array.from({ length: words * SPREAD.length }, (_, at) => {
    const skipping = near[Math.floor(at / SPREAD.length)] ?? 0;
    let reached = -1;
    for (let by = 1; by <= (SPREAD[at % SPREAD.length] ?? 0); by += 1) reached &= skipping << by;
    return reached;
  });
  const skipNear = (active: Int32Array, word: number): void => {
    let bits = active[word] ?? 0;
    if ((bits & (near[word] ?? 0)) === 0) return;
    for (let at = 0; at < SPREAD.length; at += 1)
      bits |= (bits << (1 << at)) & (runs[word * SPREAD.length + at] ?? 0);
    active[word] = bits;
  };
  return (active) => {
    // Skips lead forward, so one pass over the words is enough.
    for (let word = 0; word < words; word += 1) {
      skipNear(active, word);
      let done = 0;
      let pending = (active[word] ?? 0) & (far[word] ?? 0);
      while (pending !== 0) {
        const lowest = pending & -pending;
        done |= lowest;
        const position = word * BITS + (BITS - 1 - Math.clz32(lowest));
        for (const target of states[position]?.skips ?? []) setBit(active, target);
        skipNear(active, word);
        pending = (active[word] ?? 0) & (far[word] ?? 0) & ~done;
      }
      const last = ((active[word] ?? 0) & (near[word] ?? 0)) >>> (BITS - 1);
      if (last !== 0) active[word + 1] = (active[word + 1] ?? 0) | 1;
    }
  };
}

function toBits(
  words: number,
  states: readonly PatternState[],
  holds: (state: PatternState, position: number) => boolean,
): Int32Array {
  const bits = new Int32Array(words);
  for (const [position, state] of states.entries())
    if (holds(state, position)) setBit(bits, position);
  return bits;
}

function setBit(bits: Int32Array, position: number): void {
  const word = Math.floor(position / BITS);
  bits[word] = (bits[word] ?? 0) | (1 << (position % BITS));
}

function hasBit(bits: Int32Array, position: number): boolean {
  return ((bits[Math.floor(position / BITS)] ?? 0) & (1 << (position % BITS))) !== 0;
}

/** Returns whether a code point is that of a character. */
export function isCharacter(character: string): (codePoint: number) => boolean {
  const expected = character.codePointAt(0);
  return (codePoint) => codePoint === expected;
}

/** Parses the members of a set, such as `a-z_`; undefined for an empty set and for a range that ends before it begins. */
export function toCharacterSet(
  characters: readonly string[],
): ((codePoint: number) => boolean) | undefined {
  const members = characters.map((each) => each.codePointAt(0) ?? 0);
  const dash = "-".codePointAt(0);
  const ranges: (readonly [low: number, high: number])[] = [];
  for (let at = 0; at < members.length; at += 1) {
    const low = members[at] ?? 0;
    const isRange = members[at + 1] === dash && at + 2 < members.length;
    const high = isRange ? (members[at + 2] ?? low) : low;
    if (high < low) return undefined;
    ranges.push([low, high]);
    if (isRange) at += 2;
  }
  if (ranges.length === 0) return undefined;
  return (codePoint) => ranges.some(([low, high]) => low <= codePoint && codePoint <= high);
}
