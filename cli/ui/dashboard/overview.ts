import type { CliError } from "../../errors.ts";
import { toProblemText } from "../frame.ts";
import type { LoadState } from "../load.ts";
import { type DashboardRow, type SectionState, toneOfFailure } from "./section.ts";

/** The overview: a row for each section. */
export interface Overview {
  readonly rows: readonly DashboardRow[];
  readonly summary: string;
  /** With the error that several sections share: their rows do not repeat it. */
  readonly load: LoadState;
  /** Further errors of that kind. */
  readonly warning: string | undefined;
}

/** Returns a function that reads the overview from the last loads. */
export function createOverview(states: readonly SectionState[]): () => Overview {
  return () => {
    const shared = listShared(states.flatMap(({ load }) => load.failure ?? []));
    const [only, ...others] = shared;
    // All failed for one reason and nothing was ever loaded: the reason is everything there is to show.
    const isAll =
      only !== undefined &&
      states.every(({ load, content }) => content === undefined && isSame(load.failure, only));
    return {
      rows: isAll ? [] : states.map((state) => toRow(state, shared)),
      summary: "",
      load: { wasLoaded: !isAll, failure: only },
      warning: others.length === 0 ? undefined : others.map(toProblemText).join(". "),
    };
  };
}

function toRow(
  { section, load: { failure }, content }: SectionState,
  shared: readonly CliError[],
): DashboardRow {
  const isShared = shared.some((each) => isSame(failure, each));
  const known = content?.summary ?? (failure === undefined ? "loading" : "not loaded");
  const state = failure === undefined || isShared ? known : failure.message;
  const hint = failure?.details.hint;
  return {
    id: section.title,
    tone: failure === undefined ? (content?.tone ?? "idle") : toneOfFailure(failure),
    cells: [section.title, state],
    details: [["state", state], ...(hint === undefined ? [] : [["hint", hint] as const])],
    actions: [],
  };
}

/** Returns the errors that occur more than once. That one may not see a section is said in its row. */
function listShared(failures: readonly CliError[]): readonly CliError[] {
  return failures.filter(
    (failure, index) =>
      failure.code !== "forbidden" &&
      failures.findIndex((each) => isSame(each, failure)) === index &&
      failures.filter((each) => isSame(each, failure)).length > 1,
  );
}

function isSame(one: CliError | undefined, other: CliError): boolean {
  return one !== undefined && toProblemText(one) === toProblemText(other);
}
