import type { CliError } from "../../errors.ts";
import type { Load } from "../load.ts";
import type { ListWindow } from "../scrolling.ts";

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
  /** For the line of keys, such as `deactivate`; undefined for one that is always refused, which only says why. */
  readonly label: string | undefined;
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

/** The rows that a section has to load. */
export interface RowRequest {
  /** The search term, or empty. */
  readonly filter: string;
  /** At least so many rows, if there are so many. */
  readonly count: number;
}

/** The result of loading a section. */
export interface SectionContent {
  readonly rows: readonly DashboardRow[];
  /** The number of rows that a larger `count` would load. */
  readonly total: number;
  /** The section in a few words, for the overview and below the rows: every number says what it counts. */
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
  /** Throws `CliError`. */
  load(request: RowRequest): Promise<SectionContent>;
}

/** Rows that a section loads first, and with each further page. */
export const ROWS_PER_PAGE = 50;
/** Maximum number of rows of a section, and of those that a search looks through: each reload reads them all. */
export const ROWS_MAX = 1_000;

/** A section and what is loaded of it. */
export interface SectionState {
  readonly section: DashboardSection;
  readonly load: Load;
  /** Undefined until a load has succeeded. */
  content: SectionContent | undefined;
  filter: string;
  /** Rows to load. */
  count: number;
  window: ListWindow;
}
