import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startDaemon } from "../../daemon/main.ts";
import { runCli } from "../cli/support/run-cli.ts";
import { createFileObjects } from "../../storage/objects/file-objects.ts";
import { findMoto, MOTO, startMoto } from "../support/cloud/s3-servers.ts";
import { testInput } from "../support/daemon.ts";
import { putObject, someBytes } from "./object-store.suite.ts";

const program = findMoto();

test.skipIf(program === undefined)(
  `a home of several parts is backed up to a server of another project and restored (${program ?? MOTO})`,
  { timeout: 300_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "croft-backup-"));
    await using server = await startMoto(program ?? "");
    await server.createBucket("backups");
    const [from, to] = [join(folder, "from"), join(folder, "to")];
    const address = `s3://backups/laptop?endpoint=${server.endpoint}`;
    const run = async (home: string, words: readonly string[]) => {
      const ran = await runCli(
        ["daemon", ...words, "--with-keys", "--passphrase-stdin", "--json"],
        {
          home,
          env: {
            CROFT_KEY_SOURCE: "file",
            CROFT_BACKUP_ACCESS_KEY_ID: server.key.id,
            CROFT_BACKUP_SECRET_ACCESS_KEY: server.key.secret,
          },
          stdin: "a long passphrase",
        },
      );
      expect({ words, code: ran.code, err: ran.err }).toMatchObject({ code: 0 });
      return ran.json();
    };
    const objectsOf = (home: string) =>
      createFileObjects({
        folder: join(home, "packages"),
        tmp: join(home, "tmp"),
        newId: () => crypto.randomUUID(),
        clock: Date.now,
        onDamaged: () => undefined,
      });
    try {
      await (await startDaemon(testInput(from, {}, []))).stop();
      const bytes = someBytes(20_000_000);
      const sha256 = await putObject(objectsOf(from), bytes);
      const written = await run(from, ["backup", "--to", address]);
      expect(written).toMatchObject({ backed_up: true });
      expect(await run(to, ["restore", "--from", address, "--yes"])).toMatchObject({
        restored: true,
        keys: "restored",
      });
      expect(await objectsOf(to).has(sha256, bytes.byteLength)).toBe(true);
      await (await startDaemon(testInput(to, {}, []))).stop();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);
