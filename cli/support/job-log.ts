import { StringDecoder } from "node:string_decoder";
import type { Client } from "../client/client.ts";
import { forge } from "../client/operations.ts";
import type { RunName } from "./run-name.ts";

/** Reads the log of a job as it arrives, in pieces of whole rows; of `rows` 0 all from the first one on. */
export async function* readJobLog(
  client: Client,
  { owner, repo, id }: RunName,
  { from, rows = 0 }: { readonly from: number; readonly rows?: number },
): AsyncGenerator<string> {
  const { stream } = await client.download(forge.getJobLog, {
    params: { owner, repo, job_id: id },
    query: { from_row: from, rows },
  });
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const chunk of stream) {
    const text = rest + decoder.write(chunk as Buffer);
    const end = text.lastIndexOf("\n") + 1;
    rest = text.slice(end);
    if (end > 0) yield text.slice(0, end);
  }
}
