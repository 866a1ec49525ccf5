import type { Database } from "../../../storage/engine/database.ts";
import { listIssueLabels } from "../../../storage/tables/forge/issues/issue-labels.ts";
import {
  type ForgeLabel,
  listUsableLabels,
} from "../../../storage/tables/forge/repositories/labels.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import { assertMayWrite, openIssue, openIssues, openIssuesToChange } from "./issue-access.ts";
import type { IssueChanges } from "./issue-changes.ts";
import type { IssuePath } from "./issue-requests.ts";
import type { LabelDetails } from "./labels.service.ts";
import { toLabelId } from "../../../storage/tables/forge/ids.ts";

/** The labels of issues. */
export type IssueLabels = ReturnType<typeof createIssueLabels>;

/**
 * Creates the service. Every function returns the labels of the issue by name, and throws `not_found` when the caller
 * may not read the issue; changes throw `forbidden` without write access to the issues.
 */
export function createIssueLabels({
  db,
  changes,
}: {
  readonly db: Database;
  readonly changes: IssueChanges;
}) {
  return {
    async list(path: IssuePath, caller: ForgeCaller | undefined): Promise<LabelDetails[]> {
      const place = await openIssues(db, path, caller, `/issues/${path.index}/labels`);
      const issue = await openIssue(db, place, path.index);
      return toDetails(await listIssueLabels(db, issue.id));

      function toDetails(labels: readonly ForgeLabel[]): LabelDetails[] {
        return labels.map((label) => ({ label, place }));
      }
    },

    /** Adds labels by id or name; ignores unknown ones. A label replaces another one of its exclusive scope. */
    add: (path: IssuePath, caller: ForgeCaller, idsOrNames: readonly (number | string)[]) =>
      change(path, caller, idsOrNames, (before, named) => [...before, ...named]),

    /** Replaces all labels of an issue. */
    replace: (path: IssuePath, caller: ForgeCaller, idsOrNames: readonly (number | string)[]) =>
      change(path, caller, idsOrNames, (_before, named) => [...named]),

    /**
     * Removes a label from an issue; idempotent. Throws `unprocessable` for a label that the repository does not have.
     */
    remove: (path: IssuePath, caller: ForgeCaller, labelId: number) =>
      change(path, caller, [labelId], (before, named) => {
        if (named.length === 0)
          throw new AppError("unprocessable", `label does not exist [label_id: ${labelId}]`);
        return before.filter(({ id }) => id !== labelId);
      }),
  };

  async function change(
    path: IssuePath,
    caller: ForgeCaller,
    idsOrNames: readonly (number | string)[],
    combine: (before: readonly ForgeLabel[], named: readonly ForgeLabel[]) => ForgeLabel[],
  ): Promise<LabelDetails[]> {
    const rest = `/issues/${path.index}/labels`;
    return db.transaction(async (tx) => {
      const place = await openIssuesToChange(tx, path, caller, rest);
      assertMayWrite(place);
      const issue = await openIssue(tx, place, path.index);
      const { id } = issue;
      const named = await listUsableLabels(tx, place.repository, {
        ids: idsOrNames.filter((each) => typeof each === "number").map(toLabelId),
        names: idsOrNames.filter((each) => typeof each === "string"),
      });
      const labels = combine(await listIssueLabels(tx, id), named);
      await changes.changeLabels(tx, { owned: place, issue, actor: caller.user }, labels);
      return (await listIssueLabels(tx, id)).map((label) => ({ label, place }));
    });
  }
}
