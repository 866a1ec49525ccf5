import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { createSharedLocks } from "../../../../../daemon/jobs/shared-locks.ts";
import { localFolder } from "../../../../../storage/cloud/local-folder/provider.ts";
import type { CloudProviderType } from "../../../../../storage/cloud/provider.ts";
import {
  createTestLog,
  openTestCloud,
  testProviderDeps,
} from "../../../../support/cloud/vault-cloud.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

/** A local folder that counts how many calls of a verb run at the same time, in all daemons. */
function createCountedFolder() {
  const most: Partial<Record<string, number>> = {};
  const running: Record<string, number> = {};
  const counted =
    <Input, Outcome>(verb: string, call: (input: Input) => Promise<Outcome>) =>
    async (input: Input): Promise<Outcome> => {
      running[verb] = (running[verb] ?? 0) + 1;
      most[verb] = Math.max(most[verb] ?? 0, running[verb]);
      try {
        return await call(input);
      } finally {
        running[verb] -= 1;
      }
    };
  const type: CloudProviderType = {
    ...localFolder,
    connect: async (request, deps) => {
      const outcome = await localFolder.connect(request, deps);
      if (outcome.kind !== "ok") return outcome;
      const { provider } = outcome;
      const { replace } = provider;
      return {
        ...outcome,
        provider: {
          ...provider,
          upload: counted("upload", (input) => provider.upload(input)),
          rename: counted("rename", (input) => provider.rename(input)),
          ...(replace === undefined ? {} : { replace: counted("replace", replace) }),
        },
      };
    },
  };
  return { type, most };
}

/** Two daemons on one database with the same folder. */
async function openTwo(type: CloudProviderType) {
  const clock = () => Date.now();
  const db = await openTestDatabase({ engine: "postgres", clock });
  const localRoot = await mkdtemp(join(tmpdir(), "croft-two-"));
  const folder = join(localRoot, "mira");
  const open = (owner: string) => {
    const locks = createSharedLocks({ db, clock, newId: () => owner, log: createTestLog([]) });
    const providerDeps = {
      ...testProviderDeps(localRoot, clock),
      newId: () => crypto.randomUUID(),
      locks,
    };
    return openTestCloud({ db, providerTypes: [type], deps: { providerDeps } });
  };
  const [one, other] = [await open("one"), await open("other")];
  onTestFinished(async () => {
    await one[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
    await db.close();
    await rm(localRoot, { recursive: true });
  });
  return { folder, one, other };
}

test("two daemons change a connection, replace a file and upload files of one name one after the other", async () => {
  const { type, most } = createCountedFolder();
  const { folder, one, other } = await openTwo(type);
  const mira = await one.addUser("mira");
  await mkdir(folder);
  for (const name of ["a", "b", "c"]) await writeFile(join(folder, name), "1");
  const made = await one.cloud.connections.create(mira, {
    provider: "local_folder",
    display_name: "Files",
    settings: { root: folder },
    credentials: {},
  });
  if (made.kind !== "connected") throw new Error(made.kind);
  const { id } = made.connection;
  const request = { after: undefined, limit: 100, refresh: true, name: undefined };
  await one.cloud.listings.browse(mira, id, { parentRef: "", ...request });
  const place = (item_id: string) => ({ connection_id: id, item_id });
  const daemons = [one, other];

  const rename = ({ cloud }: typeof one, name: string) =>
    cloud.changes.rename(mira, place(name), { new_name: `${name}2` });
  const renamed = await Promise.all([rename(one, "a"), rename(other, "b")]);
  expect(renamed.map(({ kind }) => kind)).toEqual(["renamed", "renamed"]);

  const replaced = await Promise.all(
    daemons.map(({ cloud }, at) =>
      cloud.replacements.replace(mira, place("c"), {
        ifMatch: "*",
        content: Readable.from([Buffer.from(`${at}`)]),
        size: 1,
        contentType: undefined,
      }),
    ),
  );
  expect(replaced.map(({ kind }) => kind)).toEqual(["uploaded", "uploaded"]);

  const kinds: string[] = [];
  await Promise.all(
    daemons.map(async ({ cloud }) => {
      const stream = Readable.from([Buffer.from("new")]);
      const part = { field: "", filename: "new", contentType: undefined, stream };
      const parts = Readable.from([part]) as AsyncIterable<typeof part>;
      const batch = await cloud.batchUploads.begin(mira, id, parts);
      await batch.run(async ({ result }) => void kinds.push(result.kind));
      batch.release();
    }),
  );
  expect(kinds.toSorted()).toEqual(["conflict", "uploaded"]);
  expect(most).toEqual({ rename: 1, replace: 1, upload: 1 });
});

test("a daemon closes the storage of a connection that another one has deleted or reconnected", async () => {
  let open = 0;
  const type: CloudProviderType = {
    ...localFolder,
    connect: async (request, deps) => {
      const outcome = await localFolder.connect(request, deps);
      if (outcome.kind !== "ok") return outcome;
      open += 1;
      const close = async () => {
        open -= 1;
        await outcome.provider.close();
      };
      return { ...outcome, provider: { ...outcome.provider, close } };
    },
  };
  const { folder, one, other } = await openTwo(type);
  const mira = await one.addUser("mira");
  await mkdir(folder);
  const settings = { root: folder };
  const made = await one.cloud.connections.create(mira, {
    provider: "local_folder",
    display_name: "Files",
    settings,
    credentials: {},
  });
  if (made.kind !== "connected") throw new Error(made.kind);
  const { id } = made.connection;
  const request = { after: undefined, limit: 100, refresh: true, name: undefined };
  const browse = ({ cloud }: typeof one) =>
    cloud.listings.browse(mira, id, { parentRef: "", ...request });
  for (const daemon of [one, other]) await browse(daemon);
  const both = open;
  await other.cloud.closeStale();
  expect(open).toBe(both);
  await one.db.run("UPDATE vault_connections SET generation = generation + 1 WHERE id = ?", id);
  await other.cloud.closeStale();
  expect(open).toBe(both - 1);
  await browse(other);
  expect(open).toBe(both);
  await one.cloud.connections.remove(mira, id);
  await other.cloud.closeStale();
  expect(open).toBe(0);
});
