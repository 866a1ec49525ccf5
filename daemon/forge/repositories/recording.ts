import type { Transaction } from "../../../storage/engine/database.ts";
import { listTeamMembers } from "../../../storage/tables/forge/accounts/orgs.ts";
import {
  type ForgeRepository,
  insertRepository,
  type NewForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { deleteRepositoryRedirect } from "../../../storage/tables/forge/repositories/redirects.ts";
import { insertLabels } from "../../../storage/tables/forge/repositories/labels.ts";
import { insertWatch } from "../../../storage/tables/forge/repositories/watches.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { RepositoryEvents } from "./events.ts";
import type { TemplateLabel } from "./first-files.ts";

/** A repository that is to have a record from now on. */
export interface Recorded {
  readonly owner: ForgeUser;
  /** Who makes it, and watches it from then on. */
  readonly actor: ForgeUser;
  readonly isAdopted: boolean;
  readonly labels: readonly TemplateLabel[];
  readonly repository: Omit<NewForgeRepository, "ownerId">;
}

/** Everything that a new repository is in the database: its row, labels, watches, what hooks are told. */
export async function recordRepository(
  tx: Transaction,
  { owner, actor, isAdopted, labels, repository: wanted }: Recorded,
  events: RepositoryEvents,
): Promise<ForgeRepository> {
  const repository = await insertRepository(tx, { ...wanted, ownerId: owner.id });
  await deleteRepositoryRedirect(tx, owner.id, wanted.name);
  await insertLabels(
    tx,
    repository.id,
    labels.map(({ exclusive, ...label }) => ({ ...label, isExclusive: exclusive })),
  );
  // Who makes it, and of an organization everybody in its teams: each of them reaches it.
  const members = owner.kind === "organization" ? await listTeamMembers(tx, owner.id) : [];
  for (const userId of new Set([actor.id, ...members]))
    await insertWatch(tx, { repositoryId: repository.id, userId, createdAt: tx.now });
  await events.created?.(tx, { repository, owner, actor, isAdopted });
  return repository;
}
