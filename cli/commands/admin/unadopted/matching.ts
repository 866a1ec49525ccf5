import { forge } from "../../../client/operations.ts";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import { readPages } from "../../../output/pages.ts";
import { toRepositoryName } from "../../repo/repo-name.ts";

/** How many adoptions or deletions the daemon is asked for at one time. */
export const AT_ONCE = 6;

/**
 * The names that the patterns stand for, each once: a glob is looked up, anything else is OWNER/NAME as it stands.
 * @throws CliError `not_found` when a glob stands for nothing
 */
export async function listMatching(
  cli: CliContext,
  patterns: readonly string[],
): Promise<readonly string[]> {
  const names = new Set<string>();
  for (const pattern of patterns) {
    if (!/[*?[{\\]/.test(pattern)) {
      const { owner, repo } = toRepositoryName(pattern);
      names.add(`${owner}/${repo}`);
      continue;
    }
    const found = await listAll(cli, pattern);
    if (found.length === 0)
      throw new CliError("not_found", `no unadopted repository fits ${JSON.stringify(pattern)}`);
    for (const name of found) names.add(name);
  }
  return [...names];
}

async function listAll(cli: CliContext, pattern: string): Promise<readonly string[]> {
  const source = forgePages(cli.client, forge.listUnadopted, { query: { query: pattern } });
  const found: string[] = [];
  for await (const page of readPages(source, { page: undefined, limit: undefined, all: true }))
    found.push(...page.items);
  return found;
}
