import { z } from "zod";
import { empty, forgeUser } from "../../endpoint.ts";
import { pathInteger, queryText } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { resource } from "../resource.ts";
import { declareHooks } from "./declare-hooks.ts";

// Hooks of one repository, for its administrators: those created here, and its copies of default hooks.

const gate = forgeUser("repository");

export const {
  list: listRepositoryHooks,
  create: createRepositoryHook,
  get: getRepositoryHook,
  edit: editRepositoryHook,
  delete: deleteRepositoryHook,
  listDeliveries: listRepositoryDeliveries,
  getDelivery: getRepositoryDelivery,
  redeliver: redeliverOfRepository,
} = declareHooks({
  name: "forge.repos.hooks",
  below: "repos/:owner/:repo",
  gate,
  shape: repositoryParams.shape,
  of: "a repository",
  acceptsArchived: true,
});

export const { testRepositoryHook } = resource(
  {
    name: "forge.repos.hooks",
    path: "/api/v1/repos/:owner/:repo/hooks",
    params: repositoryParams,
    id: { id: pathInteger.brand<"HookId">() },
    gate,
    acceptsArchived: true,
  },
  ({ operation }) => ({
    testRepositoryHook: operation({
      as: "test",
      method: "POST",
      item: true,
      at: "tests",
      summary: "Send a test delivery of the latest commit to a hook, active or not",
      /** A full ref or the name of a branch; the default branch when absent. */
      query: z.object({ ref: queryText }),
      replies: { 204: empty },
    }),
  }),
);

export const repositoryHookEndpoints = {
  listRepositoryHooks,
  createRepositoryHook,
  getRepositoryHook,
  editRepositoryHook,
  deleteRepositoryHook,
  testRepositoryHook,
  listRepositoryDeliveries,
  getRepositoryDelivery,
  redeliverOfRepository,
};
