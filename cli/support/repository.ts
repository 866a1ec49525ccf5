import type { WireRepository } from "../../daemon/contract/forge/repositories/repositories.ts";
import { usageError } from "../errors.ts";
import { type Column, size, time } from "../output/cells.ts";
import type { AnyEndpoint } from "../../daemon/contract/endpoint.ts";
import type { Operation } from "../client/operations.ts";
import type { CallInput } from "../client/client.ts";
import { forgePages, type ListItemOf } from "../client/paging.ts";
import type { PageSource } from "../output/pages.ts";
import { listOf } from "../output/spec.ts";
import { commandDetails } from "../tree/command.ts";
import type { Example } from "../tree/entry.ts";

/** A repository by owner and name. */
export interface RepositoryName {
  readonly owner: string;
  readonly repo: string;
}

/** The first argument of commands about one repository. */
export const repositoryArgument = {
  "<repository>": { help: "the repository as OWNER/NAME", parse: toRepositoryName },
} as const;

/** The first argument of commands about one issue. */
export const issueArgument = {
  "<issue>": { help: "the issue as OWNER/NAME#NUMBER", parse: toIssueName },
} as const;

/** `owner/name` as its parts. @throws CliError `usage` */
export function toRepositoryName(text: string): RepositoryName {
  const [owner = "", repo = "", ...rest] = text.split("/");
  if (owner === "" || repo === "" || rest.length > 0)
    throw usageError(`a repository is named OWNER/NAME, not ${JSON.stringify(text)}`);
  return { owner, repo };
}

/** A repository in a table. */
export const repositoryColumns: readonly Column<WireRepository>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ full_name: fullName }) => fullName },
  { header: "private", cell: ({ private: isPrivate }) => isPrivate },
  { header: "branch", cell: ({ default_branch: branch }) => branch },
  { header: "size", cell: (repository) => size(repository.size * 1024) },
  { header: "updated", cell: ({ updated_at: updatedAt }) => time(updatedAt) },
];

/** One repository, with the fields that do not fit into a table. */
export const repositoryLines: readonly Column<WireRepository>[] = [
  ...repositoryColumns,
  { header: "description", cell: ({ description }) => description },
  { header: "topics", cell: ({ topics }) => topics.join(", ") },
  { header: "language", cell: ({ language }) => language },
  { header: "parent", cell: ({ parent }) => parent?.full_name },
  { header: "forks", cell: ({ forks_count: forks }) => forks },
  { header: "empty", cell: ({ empty }) => empty },
  { header: "archived", cell: ({ archived }) => archived },
  { header: "branches", cell: ({ branch_count: branches }) => branches },
  { header: "object format", cell: ({ object_format_name: format }) => format },
  { header: "clone", cell: ({ clone_url: cloneUrl }) => cloneUrl },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
];

/** An issue by repository and number. */
export interface IssueName extends RepositoryName {
  readonly index: string;
}

/** `owner/name#number` as its parts. @throws CliError `usage` */
export function toIssueName(text: string): IssueName {
  const [repository = "", index = "", ...rest] = text.split("#");
  if (!/^[1-9]\d{0,14}$/.test(index) || rest.length > 0)
    throw usageError(`an issue is named OWNER/NAME#NUMBER, not ${JSON.stringify(text)}`);
  return { ...toRepositoryName(repository), index };
}

/** A command that prints a list that belongs to one repository, such as its tags. */
export function repositoryList<E extends AnyEndpoint>(
  operation: Operation<E>,
  columns: readonly Column<ListItemOf<E>>[],
  examples: readonly Example[],
) {
  return commandDetails({
    args: repositoryArgument,
    calls: [operation],
    output: listOf(operation),
    examples,
    async run(cli, { repository: params }) {
      const input = { params } as unknown as CallInput<E>;
      const pages = forgePages(cli.client, operation, input) as PageSource<ListItemOf<E> & object>;
      await cli.output.list(pages, columns);
    },
  });
}
