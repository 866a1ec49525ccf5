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
export interface SectionedLog {
  /** Appends whole rows, each `time content`. */
  append(text: string): void;
  /** The lines, without those of folded sections. */
  lines(): readonly LogLine[];
  /** Folds a section, or unfolds it. */
  toggle(id: number): void;
  /** Folds all steps, or unfolds all when all are folded. */
  toggleAll(): void;
  /** Rows that have been appended. */
  readonly length: number;
}

type Entry =
  | { readonly kind: "head"; readonly section: LogSection }
  | { readonly kind: "row"; readonly text: string; readonly depth: number };

/** Rows that are kept; of a longer log the first ones are dropped. */
const ROWS_MAX = 20_000;

/**
 * Makes a log whose steps have these names, in their order. A step begins at the row that the runner writes before it,
 * with its name; expressions in the name match any text.
 */
export function createSectionedLog(stepNames: readonly string[]): SectionedLog {
  const patterns = stepNames.map(toPattern);
  const folded = new Set<number>();
  let entries: Entry[] = [];
  let next = 0;
  let length = 0;
  let isInGroup = false;
  /** The first group of a step is the runner's own: it shows what the step does. */
  let isHeader = false;

  const addRow = (text: string) => {
    const [, begin] = /^(?:::group::|⭐ Run (?:Main )?)(.*)$/su.exec(text) ?? [];
    const found =
      begin === undefined ? -1 : patterns.findIndex((each, at) => at >= next && each.test(begin));
    if (begin !== undefined && found !== -1) {
      next = found + 1;
      isInGroup = false;
      isHeader = text.startsWith("::group::");
      addHead(begin, 0);
    } else if (begin !== undefined && text.startsWith("::group::")) {
      isInGroup = true;
      addHead(begin, 1);
    } else if (text === "::endgroup::") {
      isInGroup = false;
      isHeader = false;
    } else if (!isHeader) entries.push({ kind: "row", text, depth: isInGroup ? 2 : 1 });
  };
  const addHead = (title: string, depth: number) => {
    entries.push({ kind: "head", section: { id: length, title, depth } });
  };

  return {
    append(text) {
      for (const row of text.split("\n")) {
        if (row === "") continue;
        // The time in front is the same for rows that came together, and takes a third of the screen.
        addRow(row.slice(row.indexOf(" ") + 1));
        length += 1;
      }
      if (entries.length > ROWS_MAX) entries = entries.slice(-ROWS_MAX);
    },
    lines() {
      const lines: LogLine[] = [];
      let hiddenBelow = Number.POSITIVE_INFINITY;
      for (const entry of entries) {
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
    toggle(id) {
      if (!folded.delete(id)) folded.add(id);
    },
    toggleAll() {
      const steps = entries.flatMap((each) =>
        each.kind === "head" && each.section.depth === 0 ? [each.section.id] : [],
      );
      const areAll = steps.every((id) => folded.has(id));
      for (const id of steps)
        if (areAll) folded.delete(id);
        else folded.add(id);
    },
    get length() {
      return length;
    },
  };
}

function toPattern(name: string): RegExp {
  const parts = name
    .split(/\$\{\{.*?\}\}/s)
    .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s");
}
