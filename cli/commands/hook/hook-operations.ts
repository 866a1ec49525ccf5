import { forge, type Operation } from "../../client/operations.ts";
import type {
  WireDelivery,
  WireDeliveryDetails,
  WireHook,
} from "../../../daemon/contract/forge/hooks/admin-hooks.ts";
import { type Column, time } from "../../output/cells.ts";

const siteOperations = {
  list: forge.listHooks,
  get: forge.getHook,
  create: forge.createHook,
  edit: forge.editHook,
  remove: forge.deleteHook,
  listDeliveries: forge.listDeliveries,
  getDelivery: forge.getDelivery,
  redeliver: forge.redeliver,
};

const repositoryOperations = {
  list: forge.listRepositoryHooks,
  get: forge.getRepositoryHook,
  create: forge.createRepositoryHook,
  edit: forge.editRepositoryHook,
  remove: forge.deleteRepositoryHook,
  listDeliveries: forge.listRepositoryDeliveries,
  getDelivery: forge.getRepositoryDelivery,
  redeliver: forge.redeliverOfRepository,
};

const organizationOperations = {
  list: forge.listOrganizationHooks,
  get: forge.getOrganizationHook,
  create: forge.createOrganizationHook,
  edit: forge.editOrganizationHook,
  remove: forge.deleteOrganizationHook,
  listDeliveries: forge.listOrganizationDeliveries,
  getDelivery: forge.getOrganizationDelivery,
  redeliver: forge.redeliverOfOrganization,
};

const ownOperations = {
  list: forge.listOwnHooks,
  get: forge.getOwnHook,
  create: forge.createOwnHook,
  edit: forge.editOwnHook,
  remove: forge.deleteOwnHook,
  listDeliveries: forge.listOwnDeliveries,
  getDelivery: forge.getOwnDelivery,
  redeliver: forge.redeliverOwn,
};

type EndpointOf<O> = O extends Operation<infer E> ? E : never;

/** The operations of any scope: some leave the owner, or the organization, out of their paths. */
type HookOperations = {
  readonly [K in keyof typeof siteOperations]: Operation<
    | EndpointOf<(typeof siteOperations)[K]>
    | EndpointOf<(typeof repositoryOperations)[K]>
    | EndpointOf<(typeof organizationOperations)[K]>
    | EndpointOf<(typeof ownOperations)[K]>
  >;
};

/**
 * Hooks of the whole forge (`croft admin hook`), of one repository (`croft repo hook`), of an organization (`croft org
 * hook`) or of the signed-in user (`croft account hook`).
 */
export type HookScope = "site" | "repository" | "organization" | "own";

/** The operations on the hooks of each scope. */
export const hookOperations: Readonly<Record<HookScope, HookOperations>> = {
  site: siteOperations,
  repository: repositoryOperations,
  organization: organizationOperations,
  own: ownOperations,
};

/** A hook in a table. */
export const hookColumns: readonly Column<WireHook>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "type", cell: ({ type }) => type },
  { header: "active", cell: ({ active }) => active },
  { header: "url", cell: ({ config }) => config["url"] },
  { header: "events", cell: ({ events }) => events },
  { header: "branches", cell: ({ branch_filter: filter }) => filter },
  { header: "name", cell: ({ name }) => name },
  { header: "updated", cell: ({ updated_at: updatedAt }) => time(updatedAt) },
];

/** A delivery in a table. */
export const deliveryColumns: readonly Column<WireDelivery>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "event", cell: ({ event }) => event },
  { header: "state", cell: ({ state }) => state },
  { header: "attempts", cell: ({ attempts }) => attempts },
  { header: "status", cell: ({ response_status: status }) => status },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
  { header: "next", cell: ({ next_attempt_at: nextAt }) => time(nextAt) },
  { header: "error", cell: ({ error }) => error },
];

/** One delivery, with both bodies. */
export const deliveryDetailsColumns: readonly Column<WireDeliveryDetails>[] = [
  ...deliveryColumns,
  { header: "uuid", cell: ({ uuid }) => uuid },
  { header: "sent", cell: ({ request }) => request.body },
  { header: "answer", cell: ({ response }) => response?.body },
];
