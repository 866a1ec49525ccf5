import { usageError } from "../errors.ts";
import { type RepositoryName, toRepositoryName } from "./repository.ts";

/** Flags that name the owner of secrets, variables and runners. */
export interface LevelFlags {
  readonly repo?: string;
  readonly org?: string;
  readonly user?: boolean;
  readonly instance?: boolean;
}

/** The owner of secrets, variables and runners. */
export type ActionLevel =
  | { readonly kind: "repository"; readonly params: RepositoryName }
  | { readonly kind: "organization"; readonly params: { readonly org: string } }
  | { readonly kind: "user"; readonly params: Record<never, never> }
  | { readonly kind: "instance"; readonly params: Record<never, never> };

/** Adds the flags to a command. */
export const levelFlags = {
  "--repo <repository>": "of this repository, OWNER/NAME",
  "--org <name>": "of this organization",
  "--user": "of all your own repositories",
  "--instance": "of all repositories of the server",
} as const;

/** Adds the flags of runners, which belong to the instance without any. */
export const runnerLevelFlags = {
  "--repo <repository>": "of this repository, OWNER/NAME; of the server when absent",
  "--org <name>": "of this organization",
  "--user": "of your own repositories",
} as const;

/** Reads the level of runners from at most one flag. @throws CliError `usage` */
export function toRunnerLevel(flags: Omit<LevelFlags, "instance">): ActionLevel {
  const { repo, org, user = false } = flags;
  if (repo === undefined && org === undefined && !user) return { kind: "instance", params: {} };
  if ([repo !== undefined, org !== undefined, user].filter(Boolean).length > 1)
    throw usageError("give one of --repo, --org and --user");
  return toLevel(flags);
}

/** Reads the level from exactly one flag. @throws CliError `usage` */
export function toLevel({ repo, org, user, instance }: LevelFlags): ActionLevel {
  const levels = [repo, org, user, instance].filter((flag) => flag !== undefined && flag !== false);
  if (levels.length !== 1) throw usageError("give one of --repo, --org, --user and --instance");
  if (repo !== undefined) return { kind: "repository", params: toRepositoryName(repo) };
  if (org !== undefined) return { kind: "organization", params: { org } };
  return { kind: user === true ? "user" : "instance", params: {} };
}
