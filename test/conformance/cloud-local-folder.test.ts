import { mkdtemp, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import { localFolder } from "../../storage/cloud/local-folder/provider.ts";
import type { CloudProvider } from "../../storage/cloud/provider.ts";
import { testProviderDeps } from "../support/cloud/vault-cloud.ts";
import { cloudProviderSuite, type CloudSubject } from "./cloud-provider.suite.ts";

cloudProviderSuite("local_folder", {
  capabilities: localFolder.capabilities,
  make: makeSubject,
  faults: [],
  withoutFaults: "no network lies between the daemon and its own disk",
  refusesName: () => false,
});

async function makeSubject(): Promise<CloudSubject> {
  const root = await mkdtemp(join(tmpdir(), "croft-suite-"));
  const before = await openFiles();
  const provider = await connect(root);
  const other = await connect(root);
  return {
    provider,
    other,
    async overwrite(id, bytes) {
      const file = await open(join(root, id), "r+");
      try {
        const { mtimeNs } = await file.stat({ bigint: true });
        // Clocks of file systems tick slowly: two writes in one tick get the same time.
        do {
          await file.truncate(0);
          await file.write(bytes, 0, bytes.length, 0);
        } while ((await file.stat({ bigint: true })).mtimeNs === mtimeNs);
      } finally {
        await file.close();
      }
    },
    async leftovers() {
      const own = join(root, ".croft");
      return [
        ...(await readdir(join(own, "tmp"))),
        ...(await readdir(join(own, "staging")).catch(() => [])),
      ];
    },
    async restoreLast() {
      const trash = join(root, ".croft", "trash");
      const record = (await readdir(trash)).find((name) => name.endsWith(".json")) ?? "";
      const { path } = JSON.parse(await readFile(join(trash, record), "utf8")) as { path: string };
      await rename(join(trash, record.replace(".json", ""), path), join(root, path));
    },
    faults: {},
    async [Symbol.asyncDispose]() {
      await provider.close();
      await other.close();
      await rm(root, { recursive: true });
      // The file of an aborted call is closed a moment later.
      const isBack = async () => (await openFiles()) <= before;
      await vi.waitUntil(isBack, { timeout: 60_000, interval: 10 });
    },
  };
}

async function connect(root: string): Promise<CloudProvider> {
  const outcome = await localFolder.connect(
    {
      connectionId: "c",
      settings: { root },
      credentials: {},
      probeResult: undefined,
      saveCredentials: async () => undefined,
      signal: new AbortController().signal,
    },
    { ...testProviderDeps(root, Date.now), newId: () => crypto.randomUUID() },
  );
  if (outcome.kind !== "ok") throw new Error(JSON.stringify(outcome));
  return outcome.provider;
}

/** How many descriptors this process holds; 0 where that cannot be seen. */
async function openFiles(): Promise<number> {
  return (await readdir("/proc/self/fd").catch(() => [])).length;
}
