import { Readable } from "node:stream";
import { forge } from "../../../client/operations.ts";
import { forgeFieldPages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import { readAll } from "../../../output/pages.ts";
import type { Progress } from "../../../output/progress.ts";
import { type Task } from "../../../support/batch.ts";
import { readJobLog, type RunName } from "../../../support/runs.ts";
import { findArtifacts, newestOfEachName, noArtifact, openArtifact } from "../../run-artifact.ts";
import { toContent } from "../vault-source.ts";
import { type Content, uploadContent, type Uploaded } from "./send-file.ts";
import { trackTransfer } from "./transfer.ts";
import type { UploadTarget } from "./uploads.ts";

/** The operations that `createRunUploads` calls besides those of an upload. */
export const runUploadOperations = [
  forge.listRunArtifacts,
  forge.openArtifact,
  forge.downloadArtifactBytes,
  forge.listRunJobs,
  forge.getJobLog,
] as const;

type Sent = Uploaded & { readonly skipped: null };

/**
 * Returns the uploads of artifacts of a run, which are archives with their own names, or of the logs of its jobs. All are streamed
 * from the forge to the storage. @throws CliError `not_found` for a name that the run has not
 */
export async function createRunUploads(
  cli: CliContext,
  run: RunName,
  {
    names,
    logs,
    target,
    progress,
  }: {
    readonly names: readonly string[];
    readonly logs: boolean;
    readonly target: UploadTarget;
    readonly progress: Progress;
  },
): Promise<readonly Task<Sent>[]> {
  const sources = [
    ...(await listArtifactSources(cli, run, names)),
    ...(logs ? await listLogSources(cli, run) : []),
  ];
  return sources.map(({ item, open }) => ({
    item,
    run: async () => {
      const { name, content } = await open();
      const filename = target.name ?? name;
      const place = { folder: target.folder, filename, contentType: "application/octet-stream" };
      const sent = await trackTransfer(progress, filename, (shown) =>
        uploadContent(cli, place, content, shown),
      );
      return { ...sent, skipped: null };
    },
  }));
}

interface RunSource {
  readonly item: string;
  open(): Promise<{ readonly name: string; readonly content: Content }>;
}

async function listArtifactSources(
  cli: CliContext,
  run: RunName,
  names: readonly string[],
): Promise<readonly RunSource[]> {
  if (names.length === 0) return [];
  const newest = newestOfEachName(await findArtifacts(cli, run, undefined));
  return names.map((item) => {
    const artifact = newest.find(({ name }) => name === item);
    if (artifact === undefined) throw noArtifact(run.id, item);
    const open = async () => {
      if (cli.flags.dryRun) return { name: item, content: toContent(emptyDownload()) };
      const download = await openArtifact(cli, run, artifact);
      const isArchive = download.headers["content-type"] === "application/zip";
      const name = isArchive && !item.toLowerCase().endsWith(".zip") ? `${item}.zip` : item;
      return { name, content: toContent(download) };
    };
    return { item, open };
  });
}

async function listLogSources(cli: CliContext, run: RunName): Promise<readonly RunSource[]> {
  const { owner, repo, id } = run;
  const params = { owner, repo, run: id };
  const all = await readAll(forgeFieldPages(cli.client, forge.listRunJobs, { params }, "jobs"));
  const jobs = all.filter(({ runner_name: runner }) => runner !== undefined);
  if (jobs.length === 0) throw new CliError("not_found", `run ${id} has no job with a log`);
  const names = new Set<string>();
  return jobs.map((job) => {
    const name = job.name.replaceAll(/[/\\]/g, "_");
    // Jobs of a matrix may have one name.
    const filename = names.has(name) ? `${name} ${job.id}.log` : `${name}.log`;
    names.add(name);
    const open = async () => {
      const lines = readJobLog(cli.client, { owner, repo, id: job.id }, { from: 0 });
      const stream = Readable.from(cli.flags.dryRun ? [] : lines, { objectMode: false });
      return { name: filename, content: toContent({ size: undefined, stream }) };
    };
    return { item: filename, open };
  });
}

const emptyDownload = () => ({ size: undefined, stream: Readable.from([]) });
