import type { WireJob } from "../../../daemon/contract/forge/actions/shapes.ts";

/** A part of a log that can be folded: the rows of one step, or of a group within it. */
export interface LogSection {
  /** Stays the same while the log grows. */
  readonly id: number;
  readonly title: string;
  /** 0 for a step, 1 for a group. */
  readonly depth: number;
}

/** A line as it is shown: the head of a section, or a row. */
export type LogLine =
  | { readonly kind: "head"; readonly section: LogSection; readonly isFolded: boolean }
  | { readonly kind: "row"; readonly text: string; readonly depth: number };

/** A log with its sections, in order. */
export type SectionedLog = ReturnType<typeof createSectionedLog>;

type Entry =
  | { readonly kind: "head"; readonly section: LogSection }
  | { readonly kind: "row"; readonly text: string; readonly depth: number };

/** A step that has rows or may get some. */
interface LogStep {
  /** Of its section; other sections have the number of their row, from 0. */
  readonly id: number;
  readonly name: string;
  /** The name without its expressions: the texts between them. */
  readonly parts: readonly string[];
  /** The number of its first row; undefined until the runner has reported it. */
  readonly begin: number | undefined;
}

/** Rows that are kept; of a longer log the first ones are dropped. */
const ROWS_MAX = 20_000;
/** The markers that runners write at the beginning of a step or a group. */
const BEGIN = /^(?:::group::|⭐ Run (?:Main )?)(.*)$/su;

/**
 * Makes a log of a job with these steps. A step begins at the row that the job names for it. One that is not named yet
 * begins at the row with its name that the runner writes, so that its rows are under its head at once.
 */
export function createSectionedLog(of: WireJob["steps"]) {
  const folded = new Set<number>();
  let steps = of.flatMap(toStep);
  let retained: string[] = [];
  let length = 0;
  let built: readonly Entry[] | undefined;
  const entriesOf = () => (built ??= toEntries(steps, retained, length - retained.length));

  return {
    /** Appends whole rows, each `time content`. */
    append(text: string) {
      for (const row of text.split("\n")) {
        if (row === "") continue;
        // The time in front is the same for rows that came together, and takes a third of the screen.
        retained.push(row.slice(row.indexOf(" ") + 1));
        length += 1;
      }
      if (retained.length > ROWS_MAX) retained = retained.slice(-ROWS_MAX);
      built = undefined;
    },
    /** Replaces the steps by those that are known of the job now. */
    setSteps(next: WireJob["steps"]) {
      steps = next.flatMap(toStep);
      built = undefined;
    },
    /** The lines, without those of folded sections. */
    lines(): readonly LogLine[] {
      const lines: LogLine[] = [];
      let hiddenBelow = Number.POSITIVE_INFINITY;
      for (const entry of entriesOf()) {
        const depth = entry.kind === "head" ? entry.section.depth : entry.depth;
        if (depth > hiddenBelow) continue;
        // The rows after a folded group belong to its step.
        hiddenBelow = Number.POSITIVE_INFINITY;
        if (entry.kind === "row") lines.push(entry);
        else {
          const isFolded = folded.has(entry.section.id);
          if (isFolded) hiddenBelow = depth;
          lines.push({ ...entry, isFolded });
        }
      }
      return lines;
    },
    /** Folds a section, or unfolds it. */
    toggle(id: number) {
      if (!folded.delete(id)) folded.add(id);
    },
    /** Folds all steps, or unfolds all when all are folded. */
    toggleAll() {
      const heads = entriesOf().flatMap((each) =>
        each.kind === "head" && each.section.depth === 0 ? [each.section.id] : [],
      );
      const areAll = heads.every((id) => folded.has(id));
      for (const id of heads)
        if (areAll) folded.delete(id);
        else folded.add(id);
    },
    /** Rows that have been appended. */
    get length() {
      return length;
    },
  };
}

/** @param first the number of the first of the rows */
function toEntries(steps: readonly LogStep[], rows: readonly string[], first: number): Entry[] {
  const entries: Entry[] = [];
  let next = 0;
  let isInGroup = false;
  /** The first group of a step is the runner's own: it shows the step's command and settings. */
  let isHeader = false;
  const addHead = (id: number, title: string, depth: number) =>
    entries.push({ kind: "head", section: { id, title, depth } });

  for (const [at, text] of rows.entries()) {
    const number = first + at;
    const title = BEGIN.exec(text)?.[1];
    const step = findStep(number, title);
    if (step !== undefined) {
      next = steps.indexOf(step) + 1;
      isInGroup = false;
      isHeader = text.startsWith("::group::");
      addHead(step.id, title ?? step.name, 0);
      if (title !== undefined) continue;
    }
    if (title !== undefined && text.startsWith("::group::")) {
      isInGroup = true;
      addHead(number, title, 1);
    } else if (text === "::endgroup::") {
      isInGroup = false;
      isHeader = false;
    } else if (!isHeader) entries.push({ kind: "row", text, depth: isInGroup ? 2 : 1 });
  }
  return entries;

  /** Returns the step that begins at a row. */
  function findStep(number: number, title: string | undefined): LogStep | undefined {
    const later = steps.slice(next);
    // If several steps began before the first row that is kept, the last of them gets it.
    const named = later.findLast(({ begin }) => begin !== undefined && begin <= number);
    if (named !== undefined) return named;
    if (title === undefined) return undefined;
    const end = later.findIndex(({ begin }) => begin !== undefined);
    return later.slice(0, end === -1 ? undefined : end).find(({ parts }) => hasParts(title, parts));
  }
}

/** Returns a step that is not skipped. A step without rows has no first row either. */
function toStep(
  { name, conclusion, log_index: index, log_length: rows }: WireJob["steps"][number],
  at: number,
): LogStep[] {
  if (conclusion === "skipped") return [];
  const begin = index > 0 || rows > 0 ? index : undefined;
  return [{ id: -1 - at, name, parts: toParts(name), begin }];
}

function toParts(name: string): readonly string[] {
  const parts: string[] = [];
  let from = 0;
  for (;;) {
    const start = name.indexOf("${{", from);
    const end = start === -1 ? -1 : name.indexOf("}}", start);
    if (end === -1) return [...parts, name.slice(from)];
    parts.push(name.slice(from, start));
    from = end + 2;
  }
}

/**
 * Returns whether a title consists of these parts with any text between them. Not by a regular expression, which would try
 * every way to divide the text between many parts: names come from the workflow.
 */
function hasParts(title: string, parts: readonly string[]): boolean {
  const [first = "", ...others] = parts;
  const last = others.pop();
  if (last === undefined) return title === first;
  const end = title.length - last.length;
  if (!title.startsWith(first) || !title.endsWith(last) || first.length > end) return false;
  let at = first.length;
  for (const part of others) {
    const found = title.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= end;
}
