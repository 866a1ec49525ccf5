import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

/** More than sockets and pipes buffer, so the server has not sent the whole pack when the client stops reading. */
const FILE_BYTES = 32 * 1024 * 1024;
const NAK = "0008NAK\n";
const CHECKSUM_BYTES = 20;

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { by } = people;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const basicOf = (who: string) =>
  `Basic ${Buffer.from(`${who}:${people.tokenOf(who)}`).toString("base64")}`;

/** Requests the pack of a commit as git does; the returned response is not read yet. */
async function startFetch(path: string, who: string, commit: string): Promise<IncomingMessage> {
  const fetching = request(`${daemon.url}${path}/git-upload-pack`, {
    method: "POST",
    headers: {
      authorization: basicOf(who),
      "content-type": "application/x-git-upload-pack-request",
    },
  });
  fetching.end(`0032want ${commit}\n00000009done\n`);
  const [response] = (await once(fetching, "response")) as [IncomingMessage];
  return response;
}

test("a fetch that has begun is completed after its caller lost the right to read, and no other begins", async () => {
  const [mira, nora] = [await people.newUser("mira"), await people.newUser("nora")];
  const name = await people.newRepository(mira, { private: true });
  const collaborator = `/repos/${mira}/${name}/collaborators/${nora}`;
  expect((await by(mira, "PUT", collaborator, { permission: "read" })).status).toBe(204);
  const run = async (...args: string[]) => {
    const { exitCode, output, errors } = await git.in("work", ...args);
    expect(exitCode, errors).toBe(0);
    return output.trim();
  };
  await git.run("init", "-q", "-b", "main", "work");
  await writeFile(join(git.folder, "work/large"), randomBytes(FILE_BYTES));
  await run("add", ".");
  await run("commit", "-q", "-m", "A large file");
  const address = daemon.url.replace("://", `://${mira}:${people.tokenOf(mira)}@`);
  await run("push", "-q", `${address}/${mira}/${name}.git`, "main");

  const response = await startFetch(`/${mira}/${name}.git`, nora, await run("rev-parse", "HEAD"));
  expect(response.statusCode).toBe(200);
  const chunks: Buffer[] = [];
  const stream = response[Symbol.asyncIterator]();
  const first = await stream.next();
  chunks.push(first.value as Buffer);
  expect((await by(mira, "DELETE", collaborator)).status).toBe(204);
  for (let next = await stream.next(); next.done !== true; next = await stream.next())
    chunks.push(next.value as Buffer);

  const pack = Buffer.concat(chunks).subarray(NAK.length);
  expect(pack.byteLength).toBeGreaterThan(FILE_BYTES);
  const checksum = createHash("sha1").update(pack.subarray(0, -CHECKSUM_BYTES)).digest("hex");
  expect(pack.subarray(-CHECKSUM_BYTES).toString("hex")).toBe(checksum);
  const again = await fetch(`${daemon.url}/${mira}/${name}.git/info/refs?service=git-upload-pack`, {
    headers: { authorization: basicOf(nora) },
  });
  expect(again.status).toBe(404);
});
