import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import {
  countLabels,
  deleteLabel,
  findLabel,
  type ForgeLabel,
  insertLabels,
  type LabelOwner,
  listLabels,
  type NewLabel,
  updateLabel,
} from "../../../storage/tables/forge/repositories/labels.ts";
import { AppError } from "../../errors.ts";
import { notAnOwner, openOrganization } from "../organizations/organization-access.ts";
import type { ForgeCaller } from "../caller.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { notFound, orNotFound } from "../refusals.ts";
import type { OwnedRepository } from "../repositories/events.ts";
import type { RepositoryPath } from "../repositories/repositories.service.ts";
import { assertMayWrite, openIssues } from "./issue-access.ts";
import { assertNotArchived } from "../repositories/open-repository.ts";
import { toLabelId } from "../../../storage/tables/forge/ids.ts";

/** Maximum number of labels of one repository or organization. */
const LABELS_MAX = 1_000;

/** The owner of labels: a repository, or an organization by name. */
export type LabelPlace = RepositoryPath | { readonly org: string };

/** A label with its repository or organization, for its address. */
export interface LabelDetails {
  readonly label: ForgeLabel;
  readonly place: OwnedRepository | { readonly org: ForgeUser };
}

/** A new label; the colour is six hex digits. */
export type LabelFields = Omit<NewLabel, "archivedAt"> & { readonly isArchived: boolean };

/** A change of a label. Undefined members stay unchanged. */
export type LabelEdit = { readonly [K in keyof LabelFields]: LabelFields[K] | undefined };

/** Labels of repositories and organizations. */
export type Labels = ReturnType<typeof createLabels>;

/**
 * Creates the service of labels. Every function throws `not_found` when the caller may not read the repository or
 * organization; changes throw `forbidden` unless the caller may write to the issues of the repository, or owns the
 * organization.
 */
export function createLabels({ db }: { readonly db: Database }) {
  return {
    async list(
      place: LabelPlace,
      caller: ForgeCaller | undefined,
      window: PageWindow,
    ): Promise<{ readonly labels: readonly LabelDetails[]; readonly total: number }> {
      const opened = await open(db, place, caller, "/labels");
      const labels = await listLabels(db, opened.owner, toRows(window));
      return {
        labels: labels.map((label) => ({ label, place: opened.place })),
        total: await countLabels(db, opened.owner),
      };
    },

    async get(
      place: LabelPlace,
      id: number,
      caller: ForgeCaller | undefined,
    ): Promise<LabelDetails> {
      const opened = await open(db, place, caller, `/labels/${id}`);
      const label = await findLabel(db, opened.owner, { id: toLabelId(id) });
      if (label === undefined) throw notFound();
      return { label, place: opened.place };
    },

    /** Creates a label. Throws `unprocessable` when the repository or organization has the maximum number of labels. */
    async create(
      place: LabelPlace,
      caller: ForgeCaller,
      { isArchived, ...fields }: LabelFields,
    ): Promise<LabelDetails> {
      return db.transaction(async (tx) => {
        const opened = await openForChange(tx, place, caller, "/labels");
        if ((await countLabels(tx, opened.owner)) >= LABELS_MAX)
          throw new AppError("unprocessable", `there are at most ${LABELS_MAX} labels`);
        const archivedAt = isArchived ? tx.now : undefined;
        const [label] = await insertLabels(tx, opened.owner, [{ ...fields, archivedAt }]);
        if (label === undefined) throw new Error("the label was not added");
        return { label, place: opened.place };
      });
    },

    async edit(
      place: LabelPlace,
      id: number,
      caller: ForgeCaller,
      edit: LabelEdit,
    ): Promise<LabelDetails> {
      return db.transaction(async (tx) => {
        const opened = await openForChange(tx, place, caller, `/labels/${id}`);
        const before = orNotFound(await findLabel(tx, opened.owner, { id: toLabelId(id) }));
        const label = await updateLabel(tx, before.id, toChanges(edit, before, tx.now));
        return { label: orNotFound(label), place: opened.place };
      });
    },

    /** Deletes a label; idempotent, as in the reference. */
    async remove(place: LabelPlace, id: number, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const opened = await openForChange(tx, place, caller, `/labels/${id}`);
        const label = await findLabel(tx, opened.owner, { id: toLabelId(id) });
        if (label !== undefined) await deleteLabel(tx, label.id);
      });
    },
  };

  async function open(
    queries: Queries,
    place: LabelPlace,
    caller: ForgeCaller | undefined,
    rest: string,
  ) {
    if ("org" in place) {
      const { organization: org, isOwner } = await openOrganization(
        queries,
        place.org,
        caller,
        rest,
      );
      return { owner: { orgId: org.id } satisfies LabelOwner, place: { org, isOwner } };
    }
    const opened = await openIssues(queries, place, caller, rest);
    return { owner: { repositoryId: opened.repository.id } satisfies LabelOwner, place: opened };
  }

  async function openForChange(
    tx: Transaction,
    place: LabelPlace,
    caller: ForgeCaller,
    rest: string,
  ) {
    const opened = await open(tx, place, caller, rest);
    if (!("org" in opened.place)) {
      assertMayWrite(opened.place);
      assertNotArchived(opened.place);
    } else if (!opened.place.isOwner) throw notAnOwner();
    return opened;
  }
}

function toChanges(
  { isArchived, ...edit }: LabelEdit,
  before: ForgeLabel,
  now: number,
): Partial<NewLabel> {
  const { name, color, description, isExclusive } = edit;
  return {
    ...(name === undefined ? {} : { name }),
    ...(color === undefined ? {} : { color }),
    ...(description === undefined ? {} : { description }),
    ...(isExclusive === undefined ? {} : { isExclusive }),
    ...(isArchived === undefined
      ? {}
      : { archivedAt: isArchived ? (before.archivedAt ?? now) : undefined }),
  };
}
