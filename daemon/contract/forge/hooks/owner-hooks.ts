import { z } from "zod";
import { forgeUser } from "../../endpoint.ts";
import { declareHooks } from "./declare-hooks.ts";

// Hooks of an organization, for its owners, and of a user: they fire for all repositories of that owner.

export const organizationHooks = declareHooks({
  name: "forge.orgs.hooks",
  below: "orgs/:org",
  gate: forgeUser("organization"),
  shape: { org: z.string() },
  of: "an organization",
});

export const {
  list: listOrganizationHooks,
  create: createOrganizationHook,
  get: getOrganizationHook,
  edit: editOrganizationHook,
  delete: deleteOrganizationHook,
  listDeliveries: listOrganizationDeliveries,
  getDelivery: getOrganizationDelivery,
  redeliver: redeliverOfOrganization,
} = organizationHooks;

export const ownHooks = declareHooks({
  name: "forge.user.hooks",
  below: "user",
  gate: forgeUser("user"),
  shape: {},
  of: "your own account",
});

export const {
  list: listOwnHooks,
  create: createOwnHook,
  get: getOwnHook,
  edit: editOwnHook,
  delete: deleteOwnHook,
  listDeliveries: listOwnDeliveries,
  getDelivery: getOwnDelivery,
  redeliver: redeliverOwn,
} = ownHooks;

export const ownerHookEndpoints = {
  listOrganizationHooks,
  createOrganizationHook,
  getOrganizationHook,
  editOrganizationHook,
  deleteOrganizationHook,
  listOrganizationDeliveries,
  getOrganizationDelivery,
  redeliverOfOrganization,
  listOwnHooks,
  createOwnHook,
  getOwnHook,
  editOwnHook,
  deleteOwnHook,
  listOwnDeliveries,
  getOwnDelivery,
  redeliverOwn,
};
