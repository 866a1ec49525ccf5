import { z } from "zod";
import { empty, forgeUser } from "../../endpoint.ts";
import { pathInteger, queryText } from "../common.ts";
import { repositoryParams } from "../repositories/repositories.ts";
import { repository } from "../../permission.ts";
import { resource } from "../resource.ts";
import { declareHooks } from "./declare-hooks.ts";

// Hooks of one repository, for its administrators: those created here, and its copies of default hooks.

const gate = forgeUser("repository");
const on = repository("any", "admin");

export const repositoryHooks = declareHooks({
  name: "forge.repos.hooks",
  below: "repos/:owner/:repo",
  gate,
  on,
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
    on,
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
  listRepositoryHooks: repositoryHooks.list,
  createRepositoryHook: repositoryHooks.create,
  getRepositoryHook: repositoryHooks.get,
  editRepositoryHook: repositoryHooks.edit,
  deleteRepositoryHook: repositoryHooks.delete,
  testRepositoryHook,
  listRepositoryDeliveries: repositoryHooks.listDeliveries,
  getRepositoryDelivery: repositoryHooks.getDelivery,
  redeliverOfRepository: repositoryHooks.redeliver,
};
