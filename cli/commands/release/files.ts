import { basename, resolve } from "node:path";
import type {
  WireRelease,
  WireReleaseAsset,
} from "../../../daemon/contract/forge/releases/releases.ts";
import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { CliError, usageError } from "../../errors.ts";
import { resourceOf } from "../../output/spec.ts";
import { type RepositoryName, repositoryArgument } from "../../support/repository.ts";
import { commandDetails } from "../../tree/command.ts";
import { type Content, openSource } from "../vault/item/send-file.ts";
import { trackTransfer } from "../vault/item/transfer.ts";
import { findRelease, noteFlags, readNotes, releaseLines } from "./releases.ts";

export const createRelease = commandDetails({
  args: {
    ...repositoryArgument,
    "<tag>": "the tag of the release, which is made unless it exists",
    "[files...]": "files to add",
  },
  flags: {
    "-t, --title <text>": "the title",
    ...noteFlags,
    "--generate-notes":
      "list what was closed and merged since the previous release, after the notes",
    "--notes-start-tag <tag>": "with --generate-notes: the release to begin after",
    "--target <ref>":
      "where the tag is made: a branch, or the full id of a commit; the default branch if it is not given",
    "-m, --message <text>": "make an annotated tag with this message",
    "-d, --draft": "keep it as a draft, which only users with write access see",
    "-p, --prerelease": "mark it as a prerelease",
  },
  calls: [
    forge.createRelease,
    forge.generateReleaseNotes,
    forge.createReleaseAsset,
    forge.editRelease,
    forge.getReleaseByTag,
  ],
  output: resourceOf(forge.createRelease, 201),
  examples: [
    ["Release the default branch", 'croft release create keeper/notes v1.0 --title "First"'],
    [
      "Create a draft with generated notes",
      "croft release create keeper/notes v1.1 --generate-notes --draft",
    ],
    [
      "Release a branch with notes from a file, and a file",
      "croft release create keeper/notes v1.2 report.pdf --notes-file notes.md --target stable",
    ],
  ],
  /**
   * Creates a release and prints it. One with files is a draft until they have arrived, so it appears with all of them.
   * When an upload fails, the draft stays.
   */
  async run(cli, { repository, tag, files, ...flags }) {
    const written = await readNotes(cli, flags);
    const sources = await openFiles(cli, files);
    const notes = [
      written,
      // A dry run shows the request that writes.
      flags.generateNotes === true && !cli.flags.dryRun
        ? await generateNotes(cli, repository, tag, flags.notesStartTag)
        : undefined,
    ].filter((text) => text !== undefined && text !== "");
    const isDraft = flags.draft === true;
    const body = {
      tag_name: tag,
      ...(flags.target === undefined ? {} : { target_commitish: flags.target }),
      ...(flags.message === undefined ? {} : { tag_message: flags.message }),
      name: flags.title ?? tag,
      body: notes.join("\n\n"),
      draft: isDraft || files.length > 0,
      prerelease: flags.prerelease === true,
    };
    const { body: made } = await cli.client.call(forge.createRelease, { params: repository, body });
    if (files.length === 0) return cli.output.resource(made, releaseLines);
    await addFiles(cli, repository, made, sources);
    await cli.output.resource(await finish(cli, repository, made, isDraft), releaseLines);
  },
});

export const uploadFiles = commandDetails({
  args: {
    ...repositoryArgument,
    "<tag>": "the tag of the release",
    "<files...>": "the files",
  },
  flags: { "--clobber": "replace files of the same names" },
  calls: [forge.getReleaseByTag, forge.createReleaseAsset, forge.deleteReleaseAsset],
  output: resourceOf(forge.getReleaseByTag),
  /** Only files that were replaced by ones of the same name are deleted. */
  destructive: false,
  examples: [
    ["Add a file to a release", "croft release upload keeper/notes v1.0 notes.md"],
    ["Replace a file", "croft release upload keeper/notes v1.0 report.pdf --clobber"],
  ],
  /** Uploads files one after the other and prints the release. @throws CliError `conflict` for a name that it has */
  async run(cli, { repository, tag, files, clobber }) {
    const sources = await openFiles(cli, files);
    const release = await findRelease(cli, repository, tag);
    const names = new Set(sources.map(({ name }) => name));
    const replaced = release.assets.filter(({ name }) => names.has(name));
    if (replaced.length > 0 && clobber !== true)
      throw new CliError(
        "conflict",
        `the release ${tag} has ${replaced.map(({ name }) => name).join(", ")} already`,
        { hint: "--clobber replaces files of the same names" },
      );
    await addFiles(cli, repository, release, sources);
    for (const { id: attachment } of replaced)
      await cli.client.call(forge.deleteReleaseAsset, {
        params: { ...repository, id: release.id, attachment },
      });
    await cli.output.resource(await findRelease(cli, repository, tag), releaseLines);
  },
});

interface NamedFile {
  readonly name: string;
  readonly source: Content;
}

/** Opens all files first, so that a missing one changes nothing. @throws CliError `file_error`, `usage` */
async function openFiles(cli: CliContext, files: readonly string[]): Promise<NamedFile[]> {
  const opened: NamedFile[] = [];
  for (const file of files) {
    if (file === "-") throw usageError("standard input has no name", "give the name of a file");
    const name = basename(resolve(cli.system.workingDirectory, file));
    if (opened.some((other) => other.name === name))
      throw usageError(`two files have the name ${name}`);
    opened.push({ name, source: await openSource(cli, file) });
  }
  return opened;
}

async function addFiles(
  cli: CliContext,
  { owner, repo }: RepositoryName,
  release: WireRelease,
  files: readonly NamedFile[],
): Promise<readonly WireReleaseAsset[]> {
  const params = { owner, repo, id: release.id };
  const added: WireReleaseAsset[] = [];
  const progress = await cli.progress();
  try {
    for (const { name: filename, source } of files) {
      const { body } = await trackTransfer(progress, filename, (shown) => {
        shown.begin(source.size);
        return cli.client.upload(
          forge.createReleaseAsset,
          { params },
          {
            fields: {},
            fileField: "attachment",
            filename,
            contentType: "application/octet-stream",
            size: source.size,
            canRestart: source.canRestart,
            open: source.open,
            onProgress: shown.update,
          },
        );
      });
      added.push(body);
    }
  } finally {
    progress.finish();
  }
  return added;
}

/** Publishes a release whose files have arrived, unless it stays a draft. Returns it with its files. */
async function finish(
  cli: CliContext,
  { owner, repo }: RepositoryName,
  { id, tag_name: tag }: WireRelease,
  isDraft: boolean,
): Promise<WireRelease> {
  if (isDraft) return findRelease(cli, { owner, repo }, tag);
  const params = { owner, repo, id };
  return (await cli.client.call(forge.editRelease, { params, body: { draft: false } })).body;
}

async function generateNotes(
  cli: CliContext,
  { owner, repo }: RepositoryName,
  tag: string,
  previous: string | undefined,
): Promise<string> {
  const { body } = await cli.client.call(forge.generateReleaseNotes, {
    params: { owner, repo },
    body: {
      tag_name: tag,
      ...(previous === undefined ? {} : { previous_tag_name: previous }),
    },
  });
  return body.body;
}
