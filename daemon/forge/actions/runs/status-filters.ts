import type { ActionStatus } from "../../../../storage/tables/forge/actions/statuses.ts";
import { workflowStatusWords } from "../../../contract/forge/actions/shapes.ts";
import { AppError } from "../../../errors.ts";

/** Statuses by the word that a filter names them with. */
const FILTERS: Readonly<Record<(typeof workflowStatusWords)[number], readonly ActionStatus[]>> = {
  requested: ["blocked"],
  pending: ["blocked"],
  waiting: ["blocked"],
  action_required: ["blocked"],
  queued: ["waiting"],
  in_progress: ["running"],
  completed: ["success", "failure", "skipped", "cancelled"],
  failure: ["failure"],
  success: ["success"],
  skipped: ["skipped"],
  neutral: ["skipped"],
  cancelled: ["cancelled"],
  timed_out: ["cancelled"],
};

/** Returns the statuses that words of a filter name. Throws `invalid_argument` for unknown words. */
export function toStatuses(words: readonly string[]): readonly ActionStatus[] {
  return words.flatMap((word) => {
    const known = workflowStatusWords.find((each) => each === word);
    if (known === undefined) throw new AppError("invalid_argument", `invalid status ${word}`);
    return FILTERS[known];
  });
}
