import { forge, vault } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { unpagedList } from "../output/spec.ts";
import { readConnections } from "../support/connection.ts";
import { commandDetails } from "../tree/command.ts";
import { unlessSignedOut } from "./whoami.ts";

const kinds = ["repository", "issue", "code", "document", "item"] as const;

/** Things of one kind that a search prints. */
const FOUND_MAX = 10;

/** Repositories whose code is searched: those of the caller that changed last. */
const CODE_REPOSITORIES = 10;

interface Found {
  readonly kind: (typeof kinds)[number];
  /** As other commands take it: `mira/notes`, `mira/notes#3`, `mira/notes:PATH:12`, the id of a document, `Papers:ID`. */
  readonly where: string;
  readonly text: string;
  readonly url: string | null;
}

export const searchAll = commandDetails({
  args: { "<words...>": "words that must occur" },
  flags: {
    "--kind <kind>": { help: "only things of one kind", choices: kinds },
  },
  calls: [
    forge.searchRepositories,
    forge.searchIssues,
    forge.getCurrentUser,
    forge.searchCode,
    vault.search,
    vault.listConnections,
  ],
  output: unpagedList({
    kind: { enum: [...kinds] },
    where: "string",
    text: "string",
    url: "string?",
  }),
  examples: [
    ["Search the forge and the vault", "croft search heating"],
    ["Search your code, in a script", "croft search --kind code retry --json=where"],
  ],
  note: `Each kind has at most ${FOUND_MAX} results. Code is that of the default branches of your\n${CODE_REPOSITORIES} repositories that changed last.`,
  /**
   * Prints what both services find, of the one that the caller is signed in to if it is only one. @throws CliError
   * `not_signed_in` when signed in to neither
   */
  async run(cli, { words, kind }) {
    const q = words.join(" ");
    const wanted = (one: (typeof kinds)[number]) => kind === undefined || kind === one;
    const forgeFound = await unlessSignedOut(async () => [
      ...(wanted("repository") ? await findRepositories(cli, q) : []),
      ...(wanted("issue") ? await findIssues(cli, q) : []),
      ...(wanted("code") ? await findCode(cli, q) : []),
    ]);
    const vaultFound = await unlessSignedOut(async () => [
      ...(wanted("document") ? await findTexts(cli, q, "document") : []),
      ...(wanted("item") ? await findTexts(cli, q, "item") : []),
    ]);
    if (forgeFound === null && vaultFound === null)
      throw new CliError("not_signed_in", "not signed in to the forge or the vault", {
        hint: '"croft login forge" and "croft login vault" sign in',
      });
    await cli.output.list(wholeList([...(forgeFound ?? []), ...(vaultFound ?? [])]), columns);
  },
});

const columns: readonly Column<Found>[] = [
  { header: "kind", cell: ({ kind }) => kind },
  { header: "where", cell: ({ where }) => where },
  { header: "text", cell: ({ text }) => text },
];

async function findRepositories(cli: CliContext, q: string): Promise<Found[]> {
  // Without a sign-in it would find what is public, and a search is of one's own things.
  await cli.client.authorizer.authorization("forge");
  const query = { q, limit: FOUND_MAX, includeDesc: true };
  const { body } = await cli.client.call(forge.searchRepositories, { query });
  return body.data.map(({ full_name: where, description, html_url: url }) => ({
    kind: "repository",
    where,
    text: description,
    url,
  }));
}

async function findIssues(cli: CliContext, q: string): Promise<Found[]> {
  await cli.client.authorizer.authorization("forge");
  const query = { q, limit: FOUND_MAX, state: "all" as const };
  const { body } = await cli.client.call(forge.searchIssues, { query });
  return body.map(({ repository, number, title, html_url: url }) => ({
    kind: "issue",
    where: `${repository?.full_name ?? ""}#${number}`,
    text: title,
    url,
  }));
}

async function findCode(cli: CliContext, q: string): Promise<Found[]> {
  const { body: user } = await cli.client.call(forge.getCurrentUser);
  const query = { uid: user.id, limit: CODE_REPOSITORIES, sort: "updated", order: "desc" } as const;
  const { body } = await cli.client.call(forge.searchRepositories, { query });
  const found: Found[] = [];
  for (const repository of body.data) {
    if (found.length >= FOUND_MAX) break;
    if (repository.empty) continue;
    const { body: code } = await cli.client.call(forge.searchCode, {
      params: { owner: repository.owner.login, repo: repository.name },
      query: { q },
    });
    const folder = `${repository.html_url}/src/branch/${toPath(repository.default_branch)}`;
    for (const { path, lines } of code.matches)
      for (const { number, text } of lines)
        found.push({
          kind: "code",
          where: `${repository.full_name}:${path}:${number}`,
          text: text.trim(),
          url: `${folder}/${toPath(path)}#L${number}`,
        });
  }
  return found.slice(0, FOUND_MAX);
}

function toPath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

async function findTexts(cli: CliContext, q: string, kind: "document" | "item"): Promise<Found[]> {
  const query = { q, kind, limit: FOUND_MAX };
  const { body } = await cli.client.call(vault.search, { query });
  const names = new Map<string, string>();
  if (body.items.some(({ item }) => item !== null))
    for (const { id, display_name: name } of await readConnections(cli)) names.set(id, name);
  return body.items.map(({ document, item, snippet }) => ({
    kind,
    where:
      item === null
        ? (document?.id ?? "")
        : `${names.get(item.connection_id) ?? item.connection_id}:${item.provider_item_id}`,
    text: `${document?.filename ?? item?.name ?? ""}: ${snippet.text}`,
    url: null,
  }));
}
