// The results of the benchmarks as data: what is compared with the baseline of the repository, and how.

/** A number that has an aim. */
export interface Measured {
  readonly value: number;
  /** "" for a ratio within the run. */
  readonly unit: string;
  readonly better: "higher" | "lower";
  readonly aim: number;
}

/** One line of the report. A ratio has an aim; a plain figure does not. */
export interface Figure {
  readonly label: string;
  readonly value: string;
  readonly measured?: Measured;
}

/** Processor time and memory until a section was reported. */
export interface Usage {
  /** Processor time of the daemons, in seconds. */
  readonly daemonSeconds: number;
  /** Processor time of the benchmark itself, in seconds. */
  readonly ownSeconds: number;
  /** The highest resident memory of a daemon, in MiB; 0 without a daemon. */
  readonly daemonMiB: number;
}

/** The figures that one call of `report` prints. */
export interface Section {
  readonly bench: string;
  readonly title: string;
  /** Why the aims are what they are. */
  readonly why: string;
  readonly figures: readonly Figure[];
  readonly usage: Usage;
  /** Milliseconds of a fixed piece of work, measured when the section was reported: how fast the machine was then. */
  readonly referenceMs: number;
}

/** The part that a row may lose before the comparison fails: less is the noise of a busy machine. */
const FALL_MAX = 0.2;
const MEMORY = "memory of the daemon";

/** A row of the baseline: the ratio that it had, and the least loss that counts. */
export interface BaselineRow {
  readonly ratio: number;
  readonly better: "higher" | "lower";
  /** The aim of a row of bytes or percentages: a part of it may be lost, because the row itself may be near zero. */
  readonly aim?: number;
}

export type Baseline = Readonly<Record<string, BaselineRow>>;

/** A row beside the same one of the baseline; `change` below zero is worse. */
export interface Compared {
  readonly name: string;
  readonly ratio: number;
  readonly before: number;
  readonly change: number;
  readonly hasFallen: boolean;
}

/**
 * Returns the rows that can be compared: each as a ratio of the run that measured it. Times and rates are divided by the
 * time of the fixed piece of work; bytes and percentages do not depend on the speed of the machine.
 */
export function toBaseline(sections: readonly Section[]): Baseline {
  const rows: Record<string, BaselineRow> = {};
  for (const section of sections) {
    const name = (label: string) => toPrefix(section) + label;
    for (const { label, measured } of section.figures)
      if (measured !== undefined && Number.isFinite(measured.value))
        rows[name(label)] = {
          ratio: round(ratioOf(measured, section.referenceMs)),
          better: measured.better,
          ...(isAbsolute(measured.unit) && { aim: measured.aim }),
        };
    if (section.usage.daemonMiB > 0)
      rows[name(MEMORY)] = { ratio: round(section.usage.daemonMiB), better: "lower" };
  }
  return rows;
}

/** Returns the baseline with the rows of these sections in place of its own of the same sections. */
export function mergeBaseline(baseline: Baseline, sections: readonly Section[]): Baseline {
  const prefixes = sections.map(toPrefix);
  const others = Object.entries(baseline).filter(
    ([name]) => !prefixes.some((prefix) => name.startsWith(prefix)),
  );
  return { ...Object.fromEntries(others), ...toBaseline(sections) };
}

const toPrefix = ({ bench, title }: Section): string => `${bench}: ${title}: `;

/** Returns the rows that both have, the worst change first. */
export function compareWith(baseline: Baseline, now: Baseline): readonly Compared[] {
  return Object.entries(now)
    .flatMap(([name, { ratio, better, aim }]): Compared[] => {
      const before = baseline[name]?.ratio;
      if (before === undefined) return [];
      const change =
        aim === undefined
          ? changeOf(before, ratio, better)
          : (better === "higher" ? ratio - before : before - ratio) / Math.max(before, aim);
      return [{ name, ratio, before, change, hasFallen: change < -FALL_MAX }];
    })
    .toSorted((one, other) => one.change - other.change);
}

/** Whether a row reaches its aim. */
export function isReached({ value, aim, better }: Measured): boolean {
  return better === "higher" ? value >= aim : value <= aim;
}

/** How a value stands to its aim, the way round in which more is better: 1 is reached, 0.5 misses it by half. */
export function scoreOf({ value, aim, better }: Measured): number {
  return better === "higher" ? value / aim : aim / value;
}

/** The part of the speed that is lost (below zero) or won: a ratio of times that doubles has lost half. */
function changeOf(before: number, now: number, better: "higher" | "lower"): number {
  if (before === now) return 0;
  return (better === "higher" ? now / before : before / now) - 1;
}

function isAbsolute(unit: string): boolean {
  return unit === "MiB" || unit === "%";
}

const millisecondsOf: Readonly<Record<string, number>> = { s: 1_000, ms: 1, µs: 0.001 };

function ratioOf({ value, unit }: Measured, referenceMs: number): number {
  const milliseconds = millisecondsOf[unit];
  if (milliseconds !== undefined) return (value * milliseconds) / referenceMs;
  return unit.endsWith("/s") ? (value * referenceMs) / 1_000 : value;
}

function round(value: number): number {
  return Number(value.toPrecision(3));
}
