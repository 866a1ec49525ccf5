import { join, resolve } from "node:path";
import { mkdir } from "node:fs/promises";
import type { WireReleaseAsset } from "../../../daemon/contract/forge/releases/releases.ts";
import { forge } from "../../client/operations.ts";
import { CliError, DryRun, usageError } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { createFileNames } from "../../support/file-names.ts";
import { addValue } from "../../support/issues.ts";
import { repositoryArgument } from "../../support/repository.ts";
import { assertFree, lstatIfThere, saveWithProgress } from "../../support/save-stream.ts";
import { commandDetails } from "../../tree/command.ts";
import { findRelease } from "./releases.ts";

export const downloadFiles = commandDetails({
  args: {
    ...repositoryArgument,
    "[tag]": "the tag of the release; the latest one if it is not given",
  },
  flags: {
    "-p, --pattern <glob>": {
      help: "files whose names match it, such as '*.tar.gz'; may be repeated",
      parse: addValue,
    },
    "-A, --archive <format>": {
      help: "the source code instead of files",
      choices: ["zip", "tar.gz"],
    },
    "-D, --dir <folder>": "the folder for the files; the current one if it is not given",
    "-O, --output <file>": "the name of the one file",
    "--clobber": "replace files that exist",
    "--skip-existing": "leave files that exist",
  },
  calls: [
    forge.getReleaseByTag,
    forge.getLatestRelease,
    forge.downloadAttachment,
    forge.getArchive,
  ],
  output: shape({ path: "string", tag: "string", files: "integer" }),
  writes: true,
  examples: [
    ["Show what would be downloaded", "croft release download keeper/notes v1.0 --dry-run"],
    [
      "Show it for files of a pattern and another folder",
      "croft release download keeper/notes v1.0 --pattern '*.pdf' --dir out --dry-run",
    ],
  ],
  /** Downloads files of a release and compares their SHA-256. Each appears under its name when it is complete. */
  async run(cli, { repository, tag, ...flags }) {
    const { pattern: patterns, archive, dir = ".", output } = flags;
    if (archive !== undefined && patterns !== undefined)
      throw usageError("--archive and --pattern exclude each other");
    if (output !== undefined && flags.dir !== undefined)
      throw usageError("--output and --dir exclude each other");
    if (flags.clobber === true && flags.skipExisting === true)
      throw usageError("--clobber and --skip-existing exclude each other");
    const release = await findRelease(cli, repository, tag);
    const folder = resolve(cli.system.workingDirectory, dir);
    const selected: readonly Download[] =
      archive === undefined
        ? selectFiles(release.assets, patterns)
        : [{ name: `${repository.repo}-${release.tag_name}.${archive}`, asset: undefined }];
    if (output !== undefined && selected.length > 1)
      throw usageError(`--output is for one file, and the release has ${selected.length}`);
    const names = createFileNames(cli.system.platform).takeAll(selected.map(({ name }) => name));
    const downloads = selected.map((one, index) => ({
      ...one,
      path:
        output === undefined
          ? join(folder, names[index] ?? one.name)
          : resolve(cli.system.workingDirectory, output),
    }));
    if (cli.flags.dryRun)
      throw new DryRun({ downloads: downloads.map(({ name, path }) => ({ name, path })) });
    const mayReplace = flags.clobber === true;
    if (!mayReplace && flags.skipExisting !== true)
      for (const { path } of downloads) await assertFree(path, EXISTS_HINT);
    if (output === undefined) await mkdir(folder, { recursive: true });
    let files = 0;
    for (const { name, asset, path } of downloads) {
      if (flags.skipExisting === true && (await lstatIfThere(path)) !== undefined) continue;
      const { stream } =
        asset === undefined
          ? await cli.client.download(forge.getArchive, {
              params: { ...repository, archive: `${release.tag_name}.${archive}` },
            })
          : await cli.client.download(forge.downloadAttachment, { params: { uuid: asset.uuid } });
      const sha256 = asset?.digest?.slice("sha256:".length);
      await saveWithProgress(cli, name, stream, {
        path,
        mayReplace,
        sha256,
        size: asset?.size,
        hint: EXISTS_HINT,
      });
      files += 1;
    }
    await cli.output.done(
      { path: folder, tag: release.tag_name, files },
      `Downloaded ${files} file${files === 1 ? "" : "s"} of ${release.tag_name} into ${dir}.`,
    );
  },
});

const EXISTS_HINT = "--clobber replaces it, --skip-existing leaves it";

/** A file of a release, or the source code without one. */
interface Download {
  readonly name: string;
  readonly asset: WireReleaseAsset | undefined;
}

/** Returns the files that any pattern matches, without links. @throws CliError `not_found` when there are none */
function selectFiles(
  assets: readonly WireReleaseAsset[],
  patterns: readonly string[] | undefined,
): readonly Download[] {
  const matches = patterns?.map(toMatcher);
  const named = assets.filter(({ name }) => matches?.some((match) => match.test(name)) ?? true);
  // A link leads to a server that gets no credentials from here.
  const found = named.filter(({ digest }) => digest !== null);
  if (found.length > 0) return found.map((asset) => ({ name: asset.name, asset }));
  const [link] = named;
  throw new CliError(
    "not_found",
    link === undefined ? "no file of the release matches" : `${link.name} is a link`,
    {
      hint:
        link === undefined
          ? '"croft release view" shows its files, and --archive downloads the source code'
          : `download it from ${link.browser_download_url}`,
    },
  );
}

/** `*` matches any text and `?` a character. */
function toMatcher(glob: string): RegExp {
  const source = glob
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replace(/\*+/g, ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${source}$`, "su");
}
