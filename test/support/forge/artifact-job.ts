import { createHash } from "node:crypto";
import { ARTIFACT_SERVICE } from "../../../daemon/contract/api-of.ts";
import type { TestDaemon } from "../daemon.ts";
import { callRunner } from "./runner-client.ts";
import type { WorkflowRepository } from "./workflow-repository.ts";

/** Takes the next job, and returns a client that stores artifacts and summaries as the toolkit of actions does. */
export async function takeArtifactJob(daemon: TestDaemon, repository: WorkflowRepository) {
  const { task, runner } = await repository.take();
  if (task === undefined) throw new Error("no task");
  const context = task.context as { gitea_runtime_token: string; server_url: string };
  const bearer = context.gitea_runtime_token;
  const claims = JSON.parse(Buffer.from(bearer.split(".")[1] ?? "", "base64url").toString());
  const [, run = "", job = ""] = String(claims.scp).split(":");
  const call = (method: string, message: object, as: string | undefined = bearer) =>
    daemon.request(`${ARTIFACT_SERVICE}/${method}`, {
      method: "POST",
      ...(as === undefined ? {} : { bearer: as }),
      json: { workflow_run_backend_id: run, workflow_job_run_backend_id: job, ...message },
    });
  const put = (address: string, query: string, body: string) =>
    daemon.request(pathOf(address) + query, { method: "PUT", body });
  return {
    call,
    put,
    /** Stores the summary of a step; the ids are those of the job unless others are given. */
    summarize: (step: number, text: string, ids: { run?: string; job?: string } = {}) =>
      daemon.request(
        `/api/actions_pipeline/_apis/pipelines/workflows/${ids.run ?? run}/jobs/${ids.job ?? job}/steps/${step}/summary`,
        { method: "PUT", bearer, body: text, headers: { "Content-Type": "text/markdown" } },
      ),
    /** Uploads an artifact in one block. */
    async upload(name: string, content: string, fields: object = {}) {
      const { json } = await call("CreateArtifact", { name, version: 7, ...fields });
      const address = json.signed_upload_url;
      await put(address, "&comp=block&blockid=QQ%3D%3D", content);
      await put(address, "&comp=blocklist", toList(["QQ=="]));
      const size = String(Buffer.byteLength(content));
      return call("FinalizeArtifact", { name, size, hash: `sha256:${sha256(content)}` });
    },
    list: async () => (await call("ListArtifacts", {})).json.artifacts,
    async download(name: string) {
      const { json } = await call("GetSignedArtifactURL", { name });
      return daemon.request(pathOf(json.signed_url));
    },
    /** Ends the log of the job, which consists of these lines. */
    endLog: (...lines: readonly string[]) =>
      callRunner(
        daemon,
        "UpdateLog",
        {
          taskId: String(task.id),
          index: 0,
          rows: lines.map((content) => ({ time: "2026-01-01T00:00:00Z", content })),
          noMore: true,
        },
        runner,
      ),
    end: (result = "SUCCESS") =>
      callRunner(
        daemon,
        "UpdateTask",
        { state: { id: String(task.id), result: `RESULT_${result}` } },
        runner,
      ),
  };
}

/** Returns the path and query of an address. */
export const pathOf = (address: string) => address.slice(new URL(address).origin.length);
/** Returns the list of blocks that completes an upload. */
export const toList = (ids: readonly string[]) =>
  `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><BlockList>${ids
    .map((id) => `<Latest>${id}</Latest>`)
    .join("")}</BlockList>`;

/** Returns the SHA-256 of some bytes in hex. */
export const sha256 = (bytes: string | Buffer) => createHash("sha256").update(bytes).digest("hex");
