import { z } from "zod";
import type { ExpressionValue } from "../../../workflows/expressions/values.ts";
import { isMapping } from "../../../workflows/mapping.ts";

/** The units that a workflow may grant its jobs. Other units of the public documentation have no effect. */
const tokenUnits = [
  "contents",
  "issues",
  "pull-requests",
  "packages",
  "statuses",
  "actions",
] as const;
export type TokenUnit = (typeof tokenUnits)[number];
export type TokenLevel = "read" | "write";

/** Levels by unit; an absent unit is denied. */
export type TokenPermissions = Readonly<Partial<Record<TokenUnit, TokenLevel>>>;

export const tokenPermissionsSchema = z.partialRecord(
  z.enum(tokenUnits),
  z.enum(["read", "write"]),
);

/**
 * Returns the permissions of a job's token. `permissions` of the job replaces that of the workflow; without both the token
 * may write everything of its repository, as in Gitea.
 */
export function toTokenPermissions(
  workflow: ExpressionValue,
  job: ExpressionValue | undefined,
): TokenPermissions {
  const declared = job ?? workflow;
  if (declared === null || declared === "write-all") return all("write");
  if (declared === "read-all") return all("read");
  if (!isMapping(declared)) return {};
  const levels: Partial<Record<TokenUnit, TokenLevel>> = {};
  for (const unit of tokenUnits) {
    const level = declared[unit];
    if (level === "read" || level === "write") levels[unit] = level;
  }
  return levels;
}

/** Returns the lower of two levels for each unit. */
export function limitPermissions(
  permissions: TokenPermissions,
  most: TokenPermissions,
): TokenPermissions {
  const levels: Partial<Record<TokenUnit, TokenLevel>> = {};
  for (const unit of tokenUnits) {
    const [one, other] = [permissions[unit], most[unit]];
    if (one !== undefined && other !== undefined) levels[unit] = one === "read" ? one : other;
  }
  return levels;
}

const all = (level: TokenLevel): TokenPermissions =>
  Object.fromEntries(tokenUnits.map((unit) => [unit, level]));

/** What a job with the workflow of a fork may do. The packages belong to the owner, not to the repository. */
export const ofForks: TokenPermissions = Object.fromEntries(
  tokenUnits.filter((unit) => unit !== "packages").map((unit) => [unit, "read"]),
);

/** The scope that a token of these permissions has. */
export function toTokenScope(permissions: TokenPermissions): string {
  const level = (...units: readonly TokenUnit[]) =>
    units.some((unit) => permissions[unit] === "write") ? "write" : "read";
  return [
    `${level("issues", "pull-requests")}:issue`,
    `${level("packages")}:package`,
    `${level("contents", "statuses", "actions", "pull-requests", "issues")}:repository`,
  ].join(",");
}
