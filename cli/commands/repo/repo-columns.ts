import type { WireRepository } from "../../../daemon/contract/forge/repositories/repositories.ts";
import { type Column, size, time } from "../../output/cells.ts";

/** A repository in a table. */
export const repositoryColumns: readonly Column<WireRepository>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ full_name: fullName }) => fullName },
  { header: "private", cell: ({ private: isPrivate }) => isPrivate },
  { header: "branch", cell: ({ default_branch: branch }) => branch },
  { header: "size", cell: (repository) => size(repository.size * 1024) },
  { header: "updated", cell: ({ updated_at: updatedAt }) => time(updatedAt) },
];

/** One repository, with what does not fit into a table. */
export const repositoryLines: readonly Column<WireRepository>[] = [
  ...repositoryColumns,
  { header: "description", cell: ({ description }) => description },
  { header: "empty", cell: ({ empty }) => empty },
  { header: "archived", cell: ({ archived }) => archived },
  { header: "branches", cell: ({ branch_count: branches }) => branches },
  { header: "object format", cell: ({ object_format_name: format }) => format },
  { header: "clone", cell: ({ clone_url: cloneUrl }) => cloneUrl },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
];
