import type { CliError } from "../../errors.ts";

/** The mark and colour of a row. */
export type Tone = "good" | "warning" | "bad" | "idle";

/** Returns the tone of a section that was not loaded. Missing permissions or sign-ins do not count as failures. */
export function toneOfFailure({ code }: CliError): Tone {
  return code === "forbidden" || code === "not_signed_in" ? "idle" : "bad";
}

/** Something that a person can do to a row. */
export interface RowAction {
  /** One letter that no key of the screen uses. */
  readonly key: string;
  /** For the line of keys, such as `deactivate`. */
  readonly label: string;
  /** The confirmation prompt; without it the action runs at once. */
  readonly question?: string;
  /** Does it, and returns a sentence about it. Throws `CliError`. */
  readonly run: () => Promise<string>;
}

export interface DashboardRow {
  /** A stable identifier, so that the cursor stays on the row after a reload. */
  readonly id: string;
  readonly tone: Tone;
  /** One text for each column of the section. */
  readonly cells: readonly string[];
  /** All details of the row, with names. */
  readonly details: readonly (readonly [name: string, value: string])[];
  readonly actions: readonly RowAction[];
}

/** The result of loading a section. */
export interface SectionContent {
  readonly rows: readonly DashboardRow[];
  /** A short summary for the overview. */
  readonly summary: string;
  readonly tone: Tone;
}

/** One list of the dashboard. */
export interface DashboardSection {
  readonly title: string;
  /** The first column gets the remaining width. */
  readonly columns: readonly string[];
  /** Shown when the section is empty. */
  readonly empty: string;
  /** Throws `CliError`. `filter` is the search term, or empty. */
  load(filter: string): Promise<SectionContent>;
}
