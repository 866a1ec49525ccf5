import { AppError } from "../errors.ts";
import type { UserId } from "../../storage/tables/forge/ids.ts";

/** 404 `not found`. */
export const notFound = (): AppError => new AppError("not_found", "not found");

/** Returns `found`; throws 404 `not found` when it is undefined. */
export function orNotFound<T>(found: T | undefined): T {
  if (found === undefined) throw notFound();
  return found;
}

/** Returns the 404 of an unknown account name in a path. */
export const userNotFound = (name: string): AppError =>
  new AppError("not_found", `user redirect does not exist [name: ${name.toLowerCase()}]`);

/**
 * 307 to the current address of a renamed account or repository: that of the request with the present `names` of its
 * parameters, or else `location`. The renderer adds the query of the request unless `location` has one.
 */
export const movedTo = (location: string, names: Readonly<Record<string, string>> = {}): AppError =>
  new AppError("moved", "moved", { location, names });

/** 404 in plain text, for a former name whose account was deleted or is hidden from the caller. */
export const formerUserGone = (): AppError =>
  new AppError("not_found", "user does not exist", { reason: "former_name" });

/** A refusal whose body has no `url` member: account state and sudo. */
export const bareRefusal = (message: string): AppError =>
  new AppError("forbidden", message, { reason: "account_state" });

/** 423: an archived repository cannot be changed. */
export const isArchived = (fullName: string): AppError =>
  new AppError("archived", `${fullName} is archived`);

export const nameTakenText = (name: string): string => `user already exists [name: ${name}]`;

export const nameTaken = (name: string): AppError => new AppError("conflict", nameTakenText(name));

/** The last active site administrator can be neither deleted nor demoted (the same words), deactivated or prohibited. */
export const lastAdmin = (
  code: "invalid_argument" | "unprocessable",
  user: { readonly id: UserId },
  verb: "delete" | "deactivate" = "delete",
): AppError => new AppError(code, `can not ${verb} the last admin user [uid: ${user.id}]`);

export const targetIsOrganization = (): AppError =>
  new AppError("unprocessable", "target is an organization but not user");

export const emailTaken = (email: string): AppError =>
  new AppError("conflict", `e-mail already in use [email: ${email}]`);
