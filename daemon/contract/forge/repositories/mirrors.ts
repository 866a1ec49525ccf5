import { z } from "zod";
import { forgeUser } from "../../endpoint.ts";
import { repository } from "../../permission.ts";
import { openTo, resource } from "../resource.ts";
import {
  apiError,
  optionalFlag,
  optionalInteger,
  optionalText,
  requiredText,
  wireTime,
} from "../common.ts";
import { repositoryParams, repositoryShape } from "./repositories.ts";
import { isAlphaDashDot } from "./rules.ts";

const secret = () => optionalText({ max: 2048 });

const migrateBody = z.object({
  clone_addr: requiredText({ max: 2048 }),
  /** The id of the owner, which older clients send. */
  uid: optionalInteger,
  repo_owner: optionalText(),
  repo_name: requiredText({ max: 100, rules: [["AlphaDashDot", isAlphaDashDot]] }),
  /** `git`, `gitea`, `forgejo` or `github`; `git` when absent. */
  service: optionalText(),
  auth_username: secret(),
  auth_password: secret(),
  auth_token: secret(),
  mirror: optionalFlag,
  /** Such as `8h0m0s`. */
  mirror_interval: optionalText({ max: 40 }),
  private: optionalFlag,
  description: optionalText({ max: 2048 }),
  lfs: optionalFlag,
  wiki: optionalFlag,
  labels: optionalFlag,
  milestones: optionalFlag,
  issues: optionalFlag,
  pull_requests: optionalFlag,
  releases: optionalFlag,
});

const importShape = z.object({
  service: z.string(),
  /** Without credentials. */
  address: z.string(),
  /** `waiting` for its turn or its next attempt, `running`, `done`, `failed` or `cancelled`. */
  state: z.enum(["waiting", "running", "done", "failed", "cancelled"]),
  /** The part under way; empty when the import has ended. */
  current: z.string(),
  /** In the order in which they are imported. */
  parts: z.array(
    z.object({
      name: z.string(),
      imported: z.int(),
      /** Left out because they did not fit. */
      skipped: z.int(),
      /** As far as the source says it. */
      total: z.int().nullable(),
    }),
  ),
  /** Why the last attempt failed. */
  error: z.string(),
  created_at: wireTime,
  updated_at: wireTime,
});
export type WireImport = z.output<typeof importShape>;

const pullMirrorShape = z.object({
  /** Without credentials. */
  remote_address: z.string(),
  interval: z.string(),
  /** When branches or tags last changed. */
  updated_at: wireTime.nullable(),
  last_sync_at: wireTime.nullable(),
  next_sync_at: wireTime.nullable(),
  /** Attempts that failed since the last success. */
  failures: z.int(),
  last_error: z.string(),
});
export type WirePullMirror = z.output<typeof pullMirrorShape>;

const pushMirrorShape = z.object({
  repo_name: z.string(),
  remote_name: z.string(),
  remote_address: z.string(),
  created: wireTime,
  last_update: wireTime.nullable(),
  last_error: z.string(),
  interval: z.string(),
  sync_on_commit: z.boolean(),
});
export type WirePushMirror = z.output<typeof pushMirrorShape>;

/** Repositories that come from other servers, follow them, or are followed by them. */
export const mirrorEndpoints = {
  ...resource(
    {
      name: "forge.repos",
      path: "/api/v1/repos/migrate",
      shape: repositoryShape,
      gate: forgeUser("repository"),
    },
    ({ create }) => ({
      migrateRepository: create(
        "Import a repository from another server, once or as a mirror that follows it",
        migrateBody,
        { as: "migrate", refuses: [400, 409, 503] },
      ),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.import",
      path: "/api/v1/repos/:owner/:repo/import",
      params: repositoryParams,
      gate: openTo("repository"),
      on: { read: repository("any", "read"), change: repository("any", "admin") },
    },
    ({ operation }) => ({
      getImport: operation({
        as: "get",
        method: "GET",
        summary: "The progress of the import of issues, pull requests and releases",
        replies: { 200: importShape },
      }),
      cancelImport: operation({
        as: "cancel",
        method: "DELETE",
        summary: "End an import; what was imported stays",
        replies: { 200: importShape },
        refuses: [409],
      }),
      resumeImport: operation({
        as: "resume",
        method: "POST",
        summary: "Resume an import that failed or was cancelled, where it ended",
        body: z.object({
          auth_username: secret(),
          auth_password: secret(),
          auth_token: secret(),
        }),
        replies: { 200: importShape },
        refuses: [409],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.mirror",
      path: "/api/v1/repos/:owner/:repo/mirror",
      params: repositoryParams,
      gate: forgeUser("repository"),
      on: repository("code", "admin"),
    },
    ({ operation, remove }) => ({
      getPullMirror: operation({
        as: "get",
        method: "GET",
        summary: "The state of a mirror: when it was compared, and its last error",
        replies: { 200: pullMirrorShape },
        refuses: [400],
      }),
      deletePullMirror: remove("Make a mirror a normal repository that takes pushes", {
        refuses: [400],
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos",
      path: "/api/v1/repos/:owner/:repo",
      params: repositoryParams,
      gate: forgeUser("repository"),
      on: repository("code", "write"),
    },
    ({ operation }) => ({
      syncMirror: operation({
        as: "mirror_sync",
        at: "mirror-sync",
        method: "POST",
        summary: "Compare a mirror with its source soon",
        replies: { 200: z.object({}) },
        refuses: [400],
      }),
      syncPushMirrors: operation({
        as: "push_mirrors_sync",
        at: "push_mirrors-sync",
        method: "POST",
        summary: "Push to all push mirrors soon",
        on: repository("code", "admin"),
        replies: { 200: z.object({}) },
      }),
    }),
  ),
  ...resource(
    {
      name: "forge.repos.push_mirrors",
      path: "/api/v1/repos/:owner/:repo/push_mirrors",
      params: repositoryParams,
      id: { name: z.string() },
      shape: pushMirrorShape,
      gate: forgeUser("repository"),
      on: repository("code", "admin"),
    },
    ({ list, get, operation, remove }) => ({
      listPushMirrors: list("Servers to which a repository is pushed, the oldest first"),
      getPushMirror: get("A push mirror by its name"),
      addPushMirror: operation({
        as: "create",
        method: "POST",
        summary: "Push the branches and tags of a repository to another server, again and again",
        body: z.object({
          remote_address: requiredText({ max: 2048 }),
          remote_username: secret(),
          remote_password: secret(),
          interval: optionalText({ max: 40 }),
          sync_on_commit: optionalFlag,
        }),
        replies: { 200: pushMirrorShape, 400: apiError },
      }),
      deletePushMirror: remove("Push a repository no longer to another server"),
    }),
  ),
};
