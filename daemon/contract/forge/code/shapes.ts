import { z } from "zod";
import { perAccount } from "../../endpoint.ts";
import { fittingAnyText, queryWord, wireTime } from "../common.ts";
import { userShape } from "../accounts/users.ts";
import { repositoryParams } from "../repositories/repositories.ts";

// Shapes of commits and of other git objects that several groups of routes share.

/** Each request runs git. */
export const readLimit = perAccount(1_200, 60);
export const writeLimit = perAccount(300, 60);

/** White space that a diff ignores; `show-all`, the default, ignores none. */
export const whitespace = fittingAnyText(
  queryWord(["ignore-all", "ignore-change", "ignore-eol", "show-all"]),
);

export const shaParams = repositoryParams.extend({ sha: z.string() });

/** The signature of a commit. This server does not verify signatures, because it has no keys for them. */
export const verificationShape = z.object({
  verified: z.boolean(),
  reason: z.string(),
  signature: z.string(),
  signer: z.null(),
  payload: z.string(),
});

const payloadUserShape = z.object({ name: z.string(), email: z.string(), username: z.string() });

/** A commit as branches and hooks show it. */
export const payloadCommitShape = z.object({
  id: z.string(),
  message: z.string(),
  url: z.string(),
  author: payloadUserShape,
  committer: payloadUserShape,
  verification: verificationShape.nullable(),
  timestamp: wireTime,
  added: z.array(z.string()).nullable(),
  removed: z.array(z.string()).nullable(),
  modified: z.array(z.string()).nullable(),
});
export type WirePayloadCommit = z.output<typeof payloadCommitShape>;

export const commitMetaShape = z.object({ url: z.string(), sha: z.string(), created: wireTime });

export const commitUserShape = z.object({ name: z.string(), email: z.string(), date: wireTime });

/** A commit with its changes. `author` and `committer` are accounts; null when their address belongs to no account. */
export const commitShape = commitMetaShape.extend({
  html_url: z.string(),
  commit: z.object({
    url: z.string(),
    author: commitUserShape,
    committer: commitUserShape,
    message: z.string(),
    tree: commitMetaShape,
    verification: verificationShape.nullable(),
  }),
  author: userShape.nullable(),
  committer: userShape.nullable(),
  parents: z.array(commitMetaShape),
  files: z
    .array(z.object({ filename: z.string(), status: z.enum(["added", "removed", "modified"]) }))
    .nullable(),
  stats: z.object({ total: z.int(), additions: z.int(), deletions: z.int() }).nullable(),
});
export type WireCommit = z.output<typeof commitShape>;
