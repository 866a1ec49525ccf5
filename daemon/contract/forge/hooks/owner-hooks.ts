import { z } from "zod";
import { forgeUser } from "../../endpoint.ts";
import { organization, ownAccount } from "../../permission.ts";
import { declareHooks } from "./declare-hooks.ts";

// Hooks of an organization, for its owners, and of a user: they fire for all repositories of that owner.

export const organizationHooks = declareHooks({
  name: "forge.orgs.hooks",
  below: "orgs/:org",
  gate: forgeUser("organization"),
  on: organization("owner"),
  shape: { org: z.string() },
  of: "an organization",
});

export const ownHooks = declareHooks({
  name: "forge.user.hooks",
  below: "user",
  gate: forgeUser("user"),
  on: ownAccount,
  shape: {},
  of: "your own account",
});

export const ownerHookEndpoints = {
  listOrganizationHooks: organizationHooks.list,
  createOrganizationHook: organizationHooks.create,
  getOrganizationHook: organizationHooks.get,
  editOrganizationHook: organizationHooks.edit,
  deleteOrganizationHook: organizationHooks.delete,
  listOrganizationDeliveries: organizationHooks.listDeliveries,
  getOrganizationDelivery: organizationHooks.getDelivery,
  redeliverOfOrganization: organizationHooks.redeliver,
  listOwnHooks: ownHooks.list,
  createOwnHook: ownHooks.create,
  getOwnHook: ownHooks.get,
  editOwnHook: ownHooks.edit,
  deleteOwnHook: ownHooks.delete,
  listOwnDeliveries: ownHooks.listDeliveries,
  getOwnDelivery: ownHooks.getDelivery,
  redeliverOwn: ownHooks.redeliver,
};
