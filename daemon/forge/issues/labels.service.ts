import type { Database } from "../../../storage/engine/database.ts";
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
import { reopenPlace } from "../organizations/places.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { orNotFound } from "../refusals.ts";
import type { OwnedRepository } from "../events.ts";
import type { GrantedRepository, GrantedOrganization } from "../opened.ts";
import { toLabelId } from "../../../storage/tables/forge/ids.ts";

/** Maximum number of labels of one repository or organization. */
const LABELS_MAX = 1_000;

/** The owner of labels: a repository or an organization, opened for the operation. */
export type LabelPlace = GrantedRepository | GrantedOrganization;

/** A label with its repository or organization, for its address. */
export interface LabelDetails {
  readonly label: ForgeLabel;
  readonly place: OwnedRepository | { readonly organization: ForgeUser };
}

/** A new label; the colour is six hex digits. */
export type LabelFields = Omit<NewLabel, "archivedAt"> & { readonly isArchived: boolean };

/** A change of a label. Undefined members stay unchanged. */
export type LabelEdit = { readonly [K in keyof LabelFields]: LabelFields[K] | undefined };

/** Labels of repositories and organizations. */
export type Labels = ReturnType<typeof createLabels>;

/** Creates the service of labels. A change opens their repository or organization again in its transaction. */
export function createLabels({ db }: { readonly db: Database }) {
  return {
    async list(
      place: LabelPlace,
      window: PageWindow,
    ): Promise<{ readonly labels: readonly LabelDetails[]; readonly total: number }> {
      const labels = await listLabels(db, ownerOf(place), toRows(window));
      return {
        labels: labels.map((label) => ({ label, place })),
        total: await countLabels(db, ownerOf(place)),
      };
    },

    /** Throws `not_found` for a label that the repository or organization does not have. */
    async get(place: LabelPlace, id: number): Promise<LabelDetails> {
      return {
        label: orNotFound(await findLabel(db, ownerOf(place), { id: toLabelId(id) })),
        place,
      };
    },

    /** Creates a label. Throws `unprocessable` when the repository or organization has the maximum number of labels. */
    async create(
      opened: LabelPlace,
      { isArchived, ...fields }: LabelFields,
    ): Promise<LabelDetails> {
      return db.transaction(async (tx) => {
        const place = await reopenPlace(tx, opened);
        if ((await countLabels(tx, ownerOf(place))) >= LABELS_MAX)
          throw new AppError("unprocessable", `there are at most ${LABELS_MAX} labels`);
        const archivedAt = isArchived ? tx.now : undefined;
        const [label] = await insertLabels(tx, ownerOf(place), [{ ...fields, archivedAt }]);
        if (label === undefined) throw new Error("the label was not added");
        return { label, place };
      });
    },

    async edit(opened: LabelPlace, id: number, edit: LabelEdit): Promise<LabelDetails> {
      return db.transaction(async (tx) => {
        const place = await reopenPlace(tx, opened);
        const before = orNotFound(await findLabel(tx, ownerOf(place), { id: toLabelId(id) }));
        const label = await updateLabel(tx, before.id, toChanges(edit, before, tx.now));
        return { label: orNotFound(label), place };
      });
    },

    /** Deletes a label; idempotent, as in the reference. */
    async remove(opened: LabelPlace, id: number): Promise<void> {
      await db.transaction(async (tx) => {
        const place = await reopenPlace(tx, opened);
        const label = await findLabel(tx, ownerOf(place), { id: toLabelId(id) });
        if (label !== undefined) await deleteLabel(tx, label.id);
      });
    },
  };
}

function ownerOf(place: LabelPlace): LabelOwner {
  return "repository" in place
    ? { repositoryId: place.repository.id }
    : { orgId: place.organization.id };
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
