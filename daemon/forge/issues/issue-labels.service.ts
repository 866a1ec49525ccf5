import type { Database } from "../../../storage/engine/database.ts";
import { listIssueLabels } from "../../../storage/tables/forge/issues/issue-labels.ts";
import {
  type ForgeLabel,
  listUsableLabels,
} from "../../../storage/tables/forge/repositories/labels.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import { openIssue } from "./issue-access.ts";
import type { IssueChanges } from "./issue-changes.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import { type GrantedRepository } from "../opened.ts";
import type { LabelDetails } from "./labels.service.ts";
import { toLabelId } from "../../../storage/tables/forge/ids.ts";

/** The labels of issues. */
export type IssueLabels = ReturnType<typeof createIssueLabels>;

/** Creates the service. Every function returns the labels of the issue by name, and throws `not_found` for no issue. */
export function createIssueLabels({
  db,
  changes,
}: {
  readonly db: Database;
  readonly changes: IssueChanges;
}) {
  return {
    async list(place: GrantedRepository, number: number): Promise<LabelDetails[]> {
      const issue = await openIssue(db, place, number);
      return (await listIssueLabels(db, issue.id)).map((label) => ({ label, place }));
    },

    /** Adds labels by id or name; ignores unknown ones. A label replaces another one of its exclusive scope. */
    add: (at: IssueToLabel, idsOrNames: readonly (number | string)[]) =>
      change(at, idsOrNames, (before, named) => [...before, ...named]),

    /** Replaces all labels of an issue. */
    replace: (at: IssueToLabel, idsOrNames: readonly (number | string)[]) =>
      change(at, idsOrNames, (_before, named) => [...named]),

    /**
     * Removes a label from an issue; idempotent. Throws `unprocessable` for a label that the repository does not have.
     */
    remove: (at: IssueToLabel, labelId: number) =>
      change(at, [labelId], (before, named) => {
        if (named.length === 0)
          throw new AppError("unprocessable", `label does not exist [label_id: ${labelId}]`);
        return before.filter(({ id }) => id !== labelId);
      }),
  };

  async function change(
    { opened, number, caller }: IssueToLabel,
    idsOrNames: readonly (number | string)[],
    combine: (before: readonly ForgeLabel[], named: readonly ForgeLabel[]) => ForgeLabel[],
  ): Promise<LabelDetails[]> {
    return db.transaction(async (tx) => {
      const place = await reopenRepository(tx, opened);
      const issue = await openIssue(tx, place, number);
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

/** An issue whose labels the caller changes. */
interface IssueToLabel {
  readonly opened: GrantedRepository;
  readonly number: number;
  readonly caller: ForgeCaller;
}
