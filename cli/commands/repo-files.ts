import { resolve } from "node:path";
import type { WireContents } from "../../daemon/contract/forge/code/contents.ts";
import { forge } from "../client/operations.ts";
import { DryRun, usageError } from "../errors.ts";
import { type Column, size, time } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { listOf, shape } from "../output/spec.ts";
import { writeRaw } from "../support/raw-output.ts";
import { repositoryArgument } from "../support/repository.ts";
import { assertFree, ONE_FILE_HINT, saveWithProgress } from "../support/save-stream.ts";
import { commandDetails } from "../tree/command.ts";

const entryColumns: readonly Column<WireContents>[] = [
  { header: "type", cell: ({ type }) => type },
  { header: "size", cell: (entry) => (entry.type === "file" ? size(entry.size) : undefined) },
  { header: "name", cell: ({ name }) => name },
  {
    header: "updated",
    cell: ({ last_committer_date: at }) => (at === undefined ? undefined : time(at)),
  },
  { header: "commit", cell: ({ last_commit_sha: sha }) => sha?.slice(0, 10) },
];

export const browseRepo = commandDetails({
  args: {
    ...repositoryArgument,
    "[path]": { help: "a folder; the top one if it is not given", default: "" },
  },
  flags: { "--ref <ref>": "a branch, tag or commit; the default branch if it is not given" },
  calls: [forge.getRootContents, forge.getContents],
  output: listOf(forge.getRootContents),
  examples: [
    ["List the files of the top folder", "croft repo browse keeper/notes"],
    ["List a folder of a branch", "croft repo browse keeper/notes docs --ref feature"],
  ],
  /** Prints the entries of a folder, or the one file that the path names. */
  async run(cli, { repository, path = "", ref }) {
    const query = { ref };
    const { body } =
      path === ""
        ? await cli.client.call(forge.getRootContents, { params: repository, query })
        : await cli.client.call(forge.getContents, {
            params: { ...repository, filepath: path },
            query,
          });
    await cli.output.list(wholeList(Array.isArray(body) ? body : [body]), entryColumns);
  },
});

export const catFile = commandDetails({
  args: { ...repositoryArgument, "<path>": "the file" },
  flags: { "--ref <ref>": "a branch, tag or commit; the default branch if it is not given" },
  calls: [forge.getRawFile],
  output: { kind: "bytes" },
  examples: [
    ["Print a file", "croft repo cat keeper/notes README.md"],
    ["Save a file of a tag", "croft repo cat keeper/notes README.md --ref v1.0 > README.md"],
  ],
  /** Prints a file: raw bytes into a pipe, text without control sequences on a terminal. */
  async run(cli, { repository: { owner, repo }, path, ref }) {
    if (cli.output.isMachine)
      throw usageError("a file does not go with machine output", "the bytes are the output");
    const download = await cli.client.download(forge.getRawFile, {
      params: { owner, repo, filepath: path },
      query: { ref },
    });
    const isText = String(download.headers["content-type"] ?? "").startsWith("text/");
    if (!cli.io.isOutputTerminal || cli.flags.force) return writeRaw(cli, download.stream);
    if (!isText) {
      download.stream.destroy();
      throw usageError("the terminal would show raw bytes", "pipe it into a file, or give --force");
    }
    const chunks = await Array.fromAsync(download.stream as AsyncIterable<Buffer>);
    await cli.output.text(Buffer.concat(chunks).toString("utf8"), undefined);
  },
});

export const downloadRepo = commandDetails({
  args: {
    ...repositoryArgument,
    "[ref]": "a branch, tag or commit; the default branch if it is not given",
  },
  flags: {
    "--zip": "make a zip file instead of a tar.gz",
    "-o, --output <file>": "the file, or - for standard output",
    "--force": "replace an existing file",
  },
  calls: [forge.getRepository, forge.getArchive],
  output: shape({ path: "string", ref: "string" }),
  writes: true,
  examples: [
    ["Download the default branch", "croft repo download keeper/notes"],
    [
      "Download a tag as a zip file",
      "croft repo download keeper/notes v1.0 --zip --output notes.zip",
    ],
  ],
  /**
   * Downloads the files of a revision. The file appears under its name when it is complete, and replaces another one only
   * with `--force`. @throws CliError `conflict` when the file exists
   */
  async run(cli, { repository, ...flags }) {
    const options = { ...repository, ...flags };
    const { owner, repo, zip, output, force = false } = options;
    const format = zip ? "zip" : "tar.gz";
    const ref =
      options.ref ??
      (await cli.client.call(forge.getRepository, { params: { owner, repo } })).body.default_branch;
    const name = output ?? `${repo}-${ref.replaceAll("/", "-")}.${format}`;
    const path = resolve(cli.system.workingDirectory, name);
    if (cli.flags.dryRun)
      throw new DryRun({ downloads: [{ ref, path: output === "-" ? "-" : path }] });
    const isPipe = output === "-";
    if (isPipe && cli.io.isOutputTerminal)
      throw usageError("the terminal would show raw bytes", "--output FILE writes a file");
    if (!isPipe && !force) await assertFree(path, ONE_FILE_HINT);
    const params = { owner, repo, archive: `${ref}.${format}` };
    const download = await cli.client.download(forge.getArchive, { params });
    if (isPipe) return writeRaw(cli, download.stream);
    await saveWithProgress(cli, name, download.stream, {
      ...{ path, mayReplace: force, hint: ONE_FILE_HINT },
    });
    await cli.output.done({ path, ref }, `Wrote ${name}.`);
  },
});
