import type { AnyEndpoint } from "../../daemon/contract/endpoint.ts";
import type { Operation } from "../client/operation.ts";
import type { CallInput } from "../client/client.ts";
import { forgePages, type ListItemOf } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import type { Column } from "../output/cells.ts";
import type { PageSource } from "../output/pages.ts";
import { listOf } from "../output/spec.ts";
import type { CommandModule } from "../tree/entry.ts";
import { repositoryArgument, type RepositoryName, toRepositoryName } from "./repository.ts";

/** Creates a command that prints a list that belongs to one repository, such as its tags. */
export function createRepositoryList<E extends AnyEndpoint>(
  operation: Operation<E>,
  columns: readonly Column<ListItemOf<E>>[],
) {
  return {
    operations: [operation],
    output: listOf(operation),
    define(command, cli, run = runList): void {
      command
        .argument(...repositoryArgument)
        .action((repository: string) => run(cli, toRepositoryName(repository)));
    },
  } satisfies CommandModule;

  async function runList(cli: CliContext, { owner, repo }: RepositoryName): Promise<void> {
    const input = { params: { owner, repo } } as unknown as CallInput<E>;
    const pages = forgePages(cli.client, operation, input) as PageSource<ListItemOf<E> & object>;
    await cli.output.list(pages, columns);
  }
}
