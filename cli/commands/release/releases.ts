import type { WireRelease } from "../../../daemon/contract/forge/releases/releases.ts";
import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import { type Column, time, toSizeText } from "../../output/cells.ts";
import { readTextFlags } from "../../support/input.ts";
import type { RepositoryName } from "../../support/repository.ts";

/** The flags of commands that take the notes of a release. */
export const noteFlags = {
  "-n, --notes <text>": 'the notes, as Markdown; "-" reads standard input',
  "-F, --notes-file <file>": 'a file with the notes; "-" reads standard input',
} as const;

/** Returns the notes that flags give; undefined without any. @throws CliError `usage` for both flags */
export async function readNotes(
  cli: CliContext,
  { notes, notesFile }: { readonly notes?: string; readonly notesFile?: string },
): Promise<string | undefined> {
  if (notes !== undefined && notesFile !== undefined)
    throw usageError("--notes and --notes-file exclude each other");
  return readTextFlags(cli, {
    ...(notes === undefined ? {} : { body: notes }),
    ...(notesFile === undefined ? {} : { bodyFile: notesFile }),
  });
}

/** Returns the release of a tag; the latest one without a tag. @throws CliError `not_found` */
export async function findRelease(
  { client }: CliContext,
  { owner, repo }: RepositoryName,
  tag: string | undefined,
): Promise<WireRelease> {
  const params = { owner, repo };
  return tag === undefined
    ? (await client.call(forge.getLatestRelease, { params })).body
    : (await client.call(forge.getReleaseByTag, { params: { ...params, tag } })).body;
}

/** A release in a table. */
export const releaseColumns: readonly Column<WireRelease>[] = [
  { header: "tag", cell: ({ tag_name: tag }) => tag },
  { header: "title", cell: ({ name }) => name },
  {
    header: "type",
    cell: ({ draft, prerelease }) => (draft ? "draft" : prerelease ? "prerelease" : undefined),
  },
  { header: "files", cell: ({ assets }) => assets.length },
  { header: "published", cell: ({ published_at: at, draft }) => (draft ? undefined : time(at)) },
];

/** One release, with the fields that do not fit into a table. */
export const releaseLines: readonly Column<WireRelease>[] = [
  ...releaseColumns.filter(({ header }) => header !== "files"),
  { header: "target", cell: ({ target_commitish: target }) => target },
  { header: "author", cell: ({ author }) => author.login },
  {
    header: "files",
    cell: ({ assets }) => assets.map(({ name, size }) => `${name} (${toSizeText(size)})`),
  },
  { header: "address", cell: ({ html_url: address }) => address },
  { header: "notes", cell: ({ body }) => body },
];
