import { id, optional, text, unread } from "../../columns.ts";
import { type UserId, type RepositoryId, toUserId, toRepositoryId } from "../ids.ts";

/**
 * The owner of secrets, variables, runners and their tokens: a repository, a user or organization, or with both ids
 * undefined the instance.
 */
export interface ActionLevel {
  readonly ownerId: UserId | undefined;
  readonly repositoryId: RepositoryId | undefined;
}

/** The level of the instance. */
export const instanceLevel: ActionLevel = { ownerId: undefined, repositoryId: undefined };

/** Returns a level as one text: `instance`, `owner/<id>` or `repository/<id>`. */
export function toLevelName({ ownerId, repositoryId }: ActionLevel): string {
  if (repositoryId !== undefined) return `repository/${repositoryId}`;
  return ownerId === undefined ? "instance" : `owner/${ownerId}`;
}

/** The columns of tables whose rows belong to levels. */
export const levelColumns = {
  ownerId: optional(id<UserId>()),
  repositoryId: optional(id<RepositoryId>()),
  /** Both in one text. */
  level: unread(text()),
};

/** Reads the text of a level. */
export function fromLevelName(name: string): ActionLevel {
  const [kind, id] = name.split("/");
  return {
    ownerId: kind === "owner" ? toUserId(id) : undefined,
    repositoryId: kind === "repository" ? toRepositoryId(id) : undefined,
  };
}
