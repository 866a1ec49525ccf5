import { z } from "zod";
import { empty, endpoint, forgeUser } from "../../endpoint.ts";
import {
  deliveryDetailsShape,
  deliveryShape,
  deliveryStates,
  hookEditQuery,
  hookEditShape,
  hookShape,
  newHookShape,
} from "./admin-hooks.ts";
import { apiError, paging, pathInteger, queryText, queryWord, signedInReplies } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";

// Hooks of one repository, for those who administer it: those made here, and its copies of default hooks.

const gate = forgeUser("repository");
const hookParams = repositoryParams.extend({ id: pathInteger.brand<"HookId">() });
const deliveryParams = hookParams.extend({ delivery_id: pathInteger.brand<"DeliveryId">() });
const refusals = { ...signedInReplies, 404: apiError } as const;

export const listRepositoryHooks = endpoint({
  name: "forge.repos.hooks.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/hooks",
  summary: "The hooks of a repository",
  gate,
  params: repositoryParams,
  query: z.object(paging),
  paging: "link_and_total",
  replies: { 200: z.array(hookShape), ...refusals },
});

export const createRepositoryHook = endpoint({
  name: "forge.repos.hooks.create",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/hooks",
  summary: "Create a hook of a repository; inactive unless requested",
  gate,
  params: repositoryParams,
  body: newHookShape,
  replies: { 201: hookShape, 400: apiError, ...refusals, 422: apiError },
});

export const getRepositoryHook = endpoint({
  name: "forge.repos.hooks.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/hooks/:id",
  summary: "A hook of a repository",
  gate,
  params: hookParams,
  replies: { 200: hookShape, ...refusals },
});

export const editRepositoryHook = endpoint({
  name: "forge.repos.hooks.edit",
  method: "PATCH",
  path: "/api/v1/repos/:owner/:repo/hooks/:id",
  summary:
    "Change a hook of a repository; events, branch filter and authorization header are replaced even when absent",
  gate,
  params: hookParams,
  query: hookEditQuery,
  body: hookEditShape,
  replies: { 200: hookShape, 400: apiError, ...refusals, 422: apiError },
});

export const deleteRepositoryHook = endpoint({
  name: "forge.repos.hooks.delete",
  method: "DELETE",
  path: "/api/v1/repos/:owner/:repo/hooks/:id",
  summary: "Delete a hook of a repository with its deliveries",
  gate,
  params: hookParams,
  replies: { 204: empty, ...refusals },
});

export const testRepositoryHook = endpoint({
  name: "forge.repos.hooks.test",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/hooks/:id/tests",
  summary: "Send a test delivery of the latest commit to a hook, active or not",
  gate,
  params: hookParams,
  /** The default branch when absent; in full or a branch's name. */
  query: z.object({ ref: queryText }),
  replies: { 204: empty, ...refusals },
});

export const listRepositoryDeliveries = endpoint({
  name: "forge.repos.hooks.deliveries.list",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/hooks/:id/deliveries",
  summary: "What a hook of a repository delivered, newest first",
  gate,
  params: hookParams,
  query: z.object({ ...paging, state: queryWord(deliveryStates) }),
  paging: "link_and_total",
  replies: { 200: z.array(deliveryShape), ...refusals },
});

export const getRepositoryDelivery = endpoint({
  name: "forge.repos.hooks.deliveries.get",
  method: "GET",
  path: "/api/v1/repos/:owner/:repo/hooks/:id/deliveries/:delivery_id",
  summary: "A delivery with what was sent and what came back",
  gate,
  params: deliveryParams,
  replies: { 200: deliveryDetailsShape, ...refusals },
});

export const redeliverOfRepository = endpoint({
  name: "forge.repos.hooks.deliveries.redeliver",
  method: "POST",
  path: "/api/v1/repos/:owner/:repo/hooks/:id/deliveries/:delivery_id/redeliver",
  summary: "Deliver the same payload once more, as a delivery of its own",
  gate,
  params: deliveryParams,
  replies: { 201: deliveryShape, ...refusals },
});

export const repositoryHookEndpoints = [
  listRepositoryHooks,
  createRepositoryHook,
  getRepositoryHook,
  editRepositoryHook,
  deleteRepositoryHook,
  testRepositoryHook,
  listRepositoryDeliveries,
  getRepositoryDelivery,
  redeliverOfRepository,
];
