import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { createBucketClient } from "../../../storage/s3/client.ts";
import { findRealBucket, type RealBucket } from "./s3-real-server.ts";

/** An S3 server of another project on a loopback port. `await using` stops it. */
export interface S3RealServer extends AsyncDisposable {
  readonly endpoint: string;
  readonly key: { readonly id: string; readonly secret: string };
  /** Creates a bucket and returns it as the adapter finds it. */
  createBucket(name: string, options?: { readonly isVersioned?: boolean }): Promise<RealBucket>;
}

/** Why the tests with moto are skipped. */
export const MOTO =
  "moto_server is neither on the PATH nor named by CROFT_TEST_MOTO (pip install 'moto[server]')";

const START_MS = 45_000;
const key = { id: "testing", secret: "testing-secret" };

/** Returns the path of moto's server; undefined when it is not installed. */
export function findMoto(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return [process.env["CROFT_TEST_MOTO"], ...folders.map((folder) => join(folder, "moto_server"))]
    .filter((path) => path !== undefined)
    .find((path) => existsSync(path));
}

/** Starts moto's S3 server, which keeps everything in memory. Throws when it does not answer within 45 seconds. */
export async function startMoto(program: string): Promise<S3RealServer> {
  const port = await findFreePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const child = spawn(program, ["-H", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const stop = async () => {
    child.kill("SIGKILL");
    await closed;
  };
  const isUp = () =>
    fetch(endpoint).then(
      () => true,
      () => false,
    );
  for (const until = Date.now() + START_MS; !(await isUp()); await sleep(50))
    if (child.exitCode !== null || Date.now() > until) {
      await stop();
      throw new Error("moto_server does not answer");
    }

  return {
    endpoint,
    key,
    async createBucket(bucket, { isVersioned = false } = {}) {
      const agent = new Agent();
      const keys = { accessKeyId: key.id, secretAccessKey: key.secret, sessionToken: undefined };
      const client = createBucketClient(
        { endpoint, region: "us-east-1", bucket, isPathStyle: true, keys },
        { guarded: agent, clock: Date.now },
      );
      const signal = AbortSignal.timeout(START_MS);
      const versioning = Buffer.from(
        `<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Enabled</Status></VersioningConfiguration>`,
      );
      const sent = [await client.sendAndDiscard({ method: "PUT", signal })];
      if (isVersioned)
        sent.push(
          await client.sendAndDiscard({
            method: "PUT",
            query: { versioning: "" },
            body: versioning,
            signal,
          }),
        );
      await agent.destroy();
      const refused = sent.find(({ kind }) => kind === "refused");
      if (refused !== undefined) throw new Error(JSON.stringify(refused));
      const found = await findRealBucket({
        CROFT_TEST_S3_ENDPOINT: endpoint,
        CROFT_TEST_S3_BUCKET: bucket,
        CROFT_TEST_S3_KEY: key.id,
        CROFT_TEST_S3_SECRET: key.secret,
      });
      if (found === undefined) throw new Error("the bucket is not named");
      return found;
    },
    [Symbol.asyncDispose]: stop,
  };
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? (address?.port ?? 0) : 0));
    });
  });
}
