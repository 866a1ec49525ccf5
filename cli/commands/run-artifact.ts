import { mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { WireArtifact } from "../../daemon/contract/forge/actions/artifacts.ts";
import { forge } from "../client/operations.ts";
import { forgeFieldPages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError, DryRun, usageError } from "../errors.ts";
import { type Column, size, time } from "../output/cells.ts";
import { readPages } from "../output/pages.ts";
import { listOf, shape } from "../output/spec.ts";
import { extractArchive } from "../support/extract-archive.ts";
import type { RepositoryName } from "../support/repository.ts";
import { type RunName, toRunName } from "../support/runs.ts";
import type { Entry } from "../tree/entry.ts";
import { toFileName, toPartPath } from "../support/file-names.ts";
import { createPartFolders, toOwnerMark } from "../support/part-files.ts";
import { saveWithProgress } from "../support/save-stream.ts";
import { command, commandDetails } from "../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List the artifacts of a run", {
    aliases: ["ls"],
    args: {
      "<run>": {
        help: "the run as OWNER/NAME/ID, or a repository as OWNER/NAME for all its runs",
        parse: toRunOrRepository,
      },
    },
    calls: [forge.listRunArtifacts, forge.listArtifacts],
    output: listOf(forge.listRunArtifacts, "artifacts"),
    examples: [
      ["List the artifacts of a run", "croft run artifact list keeper/notes/17"],
      ["List those of all runs of a repository", "croft run artifact list keeper/notes"],
    ],
    /** Prints the artifacts of a run, or of all runs of a repository. */
    async run(cli, { run: { owner, repo, id } }) {
      const params = { owner, repo };
      const pages =
        id === undefined
          ? forgeFieldPages(cli.client, forge.listArtifacts, { params }, "artifacts")
          : forgeFieldPages(
              cli.client,
              forge.listRunArtifacts,
              { params: { ...params, run: id } },
              "artifacts",
            );
      await cli.output.list(pages, columns);
    },
  }),
  command("delete", "Delete an artifact of a run", {
    args: {
      "<run>": { help: "the run as OWNER/NAME/ID", parse: toRunName },
      "<name>": "the name of the artifact",
    },
    calls: [forge.deleteArtifact, forge.listRunArtifacts],
    output: shape({ artifact: "integer" }),
    destructive: true,
    examples: [
      ["Delete an artifact", "croft run artifact delete keeper/notes/17 logs --yes"],
      ["Show the request only", "croft run artifact delete keeper/notes/17 logs --dry-run"],
    ],
    /** Deletes the newest artifact of a name. */
    async run(cli, { run: { owner, repo, id }, name }) {
      const [artifact] = await findArtifacts(cli, { owner, repo, id }, name);
      if (artifact === undefined) throw noArtifact(id, name);
      await cli.prompts.confirm(`Delete the artifact ${name} of run ${id}?`);
      const params = { owner, repo, artifact_id: artifact.id };
      await cli.client.call(forge.deleteArtifact, { params });
      await cli.output.done(
        { artifact: artifact.id },
        `Deleted the artifact ${name} of run ${id}.`,
      );
    },
  }),
];

const columns: readonly Column<WireArtifact>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ name }) => name },
  { header: "size", cell: ({ size_in_bytes: total }) => size(total) },
  { header: "attempt", cell: ({ workflow_run: run }) => run.run_attempt },
  { header: "created", cell: ({ created_at: at }) => time(at) },
  {
    header: "expires",
    cell: ({ expired, expires_at: at }) => (expired ? "expired" : time(at)),
  },
];

export const downloadArtifacts = commandDetails({
  args: {
    "<run>": { help: "the run as OWNER/NAME/ID", parse: toRunName },
    "[name]": "the artifact; all of the run if it is not given",
  },
  flags: {
    "-D, --dir <folder>": "the folder for the files; the current one if it is not given",
    "--force": "replace files that exist",
  },
  calls: [forge.listRunArtifacts, forge.openArtifact, forge.downloadArtifactBytes],
  output: shape({ path: "string", artifacts: "integer", files: "integer" }),
  writes: true,
  examples: [
    ["Show what would be downloaded", "croft run download keeper/notes/17 --dry-run"],
    [
      "Show it for one artifact and another folder",
      "croft run download keeper/notes/17 logs --dir out --dry-run",
    ],
  ],
  /**
   * Downloads artifacts and unpacks their archives: a named one into the folder itself, otherwise each into a folder of
   * its name. Without `--force`, fails for a file that exists.
   */
  async run(cli, { run, ...flags }) {
    const options = { ...run, ...flags };
    const { name, dir = "." } = options;
    const folder = resolve(cli.system.workingDirectory, dir);
    const artifacts = newestOfEachName(await findArtifacts(cli, options, name));
    if (artifacts.length === 0) throw noArtifact(options.id, name);
    const targetOf = (artifact: WireArtifact) =>
      name === undefined ? join(folder, toFileName(artifact.name, cli.system.platform)) : folder;
    if (cli.flags.dryRun)
      throw new DryRun({
        downloads: artifacts.map((each) => ({ artifact: each.name, path: targetOf(each) })),
      });
    const force = options.force === true;
    let files = 0;
    for (const artifact of artifacts)
      files += await downloadInto(cli, { ...run, force }, artifact, targetOf(artifact));
    const count = artifacts.length;
    await cli.output.done(
      { path: folder, artifacts: count, files },
      `Downloaded ${count} artifact${count === 1 ? "" : "s"} with ${files} file${files === 1 ? "" : "s"} into ${dir}.`,
    );
  },
});

/** Downloads one artifact and returns how many files it has. */
async function downloadInto(
  cli: CliContext,
  { owner, repo, force }: RepositoryName & { readonly force: boolean },
  artifact: WireArtifact,
  target: string,
): Promise<number> {
  const download = await openArtifact(cli, { owner, repo }, artifact);
  await mkdir(target, { recursive: true });
  // A workflow chose the name.
  const path = join(target, toFileName(artifact.name, cli.system.platform));
  const isArchive = download.headers["content-type"] === "application/zip";
  const sha256 = /^sha256:([0-9a-f]{64})$/.exec(artifact.digest ?? "")?.[1];
  if (!isArchive) {
    const hint = "--force replaces it";
    await saveWithProgress(cli, artifact.name, download.stream, {
      ...{ path, mayReplace: force, sha256, hint },
    });
    return 1;
  }
  await createPartFolders().sweep(path, cli.system);
  const archive = toPartPath(path, toOwnerMark(cli.system));
  try {
    await saveWithProgress(cli, artifact.name, download.stream, {
      ...{ path: archive, mayReplace: false, sha256 },
    });
    return await extractArchive(cli, archive, target, { overwrite: force });
  } finally {
    await rm(archive, { force: true });
  }
}

/** Opens the bytes of an artifact: an archive, or the file itself. */
export async function openArtifact(
  cli: CliContext,
  { owner, repo }: RepositoryName,
  artifact: WireArtifact,
) {
  const opened = await cli.client.call(
    forge.openArtifact,
    { params: { owner, repo, artifact_id: artifact.id } },
    { accept: ({ status }) => status === 302 },
  );
  const { location = "" } = opened.headers;
  const sig = URL.canParse(location) ? (new URL(location).searchParams.get("sig") ?? "") : "";
  return cli.client.download(forge.downloadArtifactBytes, { query: { sig } });
}

/** Returns the artifacts of a run that can be downloaded, newest first. */
export async function findArtifacts(
  cli: CliContext,
  { owner, repo, id }: RunName,
  name: string | undefined,
): Promise<WireArtifact[]> {
  const query = name === undefined ? {} : { name };
  const pages = forgeFieldPages(
    cli.client,
    forge.listRunArtifacts,
    { params: { owner, repo, run: id }, query },
    "artifacts",
  );
  const found: WireArtifact[] = [];
  for await (const { items } of readPages(pages, { page: undefined, limit: undefined, all: true }))
    found.push(...items.filter(({ expired }) => !expired));
  // Newer attempts have higher ids.
  return found.toSorted((one, other) => other.id - one.id);
}

/** Keeps the first of each name. */
export function newestOfEachName(artifacts: readonly WireArtifact[]): WireArtifact[] {
  const byName = new Map<string, WireArtifact>();
  for (const artifact of artifacts)
    if (!byName.has(artifact.name)) byName.set(artifact.name, artifact);
  return [...byName.values()];
}

export function noArtifact(run: number, name: string | undefined): CliError {
  const missing = name === undefined ? "no artifact" : `no artifact ${name}`;
  return new CliError("not_found", `run ${run} has ${missing} that can be downloaded`);
}

function toRunOrRepository(text: string): RepositoryName & { readonly id?: number } {
  const parts = text.split("/");
  if (parts.length === 3) return toRunName(text);
  const [owner, repo] = parts;
  if (parts.length !== 2 || !owner || !repo)
    throw usageError(`expected OWNER/NAME/ID or OWNER/NAME, not ${JSON.stringify(text)}`);
  return { owner, repo };
}
