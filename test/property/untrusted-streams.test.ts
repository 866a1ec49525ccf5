import { buffer } from "node:stream/consumers";
import { create, toBinary, type DescMethod } from "@bufbuild/protobuf";
import fc from "fast-check";
import { pack as createPack } from "tar-stream";
import { expect, test } from "vitest";
import { runnerService } from "../../daemon/workflows/runner-messages.ts";
import { readArchive } from "../../storage/backup/read-archive.ts";
import { StorageError } from "../../storage/engine/database.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { hostileText } from "../support/fuzz/hostile-values.ts";
import { registerRunner } from "../support/forge/runner-client.ts";
import { cases } from "../support/property.ts";

// Archives and messages whose bytes come from outside: they are read, or refused in the words of their protocol.

const names = fc.oneof(
  fc.constantFrom(
    "info.json",
    "croft.db",
    "MANIFEST.sha256",
    "repositories/a/b.git/HEAD",
    "packages/aa/bb/cc",
    "files/x",
    "../croft.db",
    "repositories/../../x",
    "/etc/x",
    "repositories//x",
    "repositories/./x",
    "files/a\0b",
  ),
  hostileText.filter((text) => text.length > 0 && text.length < 90 && text.isWellFormed()),
);
const entries = fc.array(
  fc.record({
    name: names,
    type: fc.constantFrom("file", "file", "file", "directory", "symlink", "link", "fifo"),
    content: fc.uint8Array({ maxLength: 700 }),
  }),
  { maxLength: 6 },
);
/** Changes of the bytes of an archive: a place among them, and another byte or the end there. */
const damages = fc.array(
  fc.record({ at: fc.nat(), byte: fc.option(fc.integer({ min: 0, max: 255 })) }),
  { maxLength: 3 },
);

test("an archive of a backup is read whole, or refused as damaged before anything outside of a home is named", async () => {
  await fc.assert(
    fc.asyncProperty(entries, damages, async (contents, changes) => {
      const pack = createPack();
      for (const { name, type, content } of contents) {
        const header = { name, type: type as "file", linkname: "croft.db" };
        if (type === "file") pack.entry(header, Buffer.from(content));
        else pack.entry(header);
      }
      pack.finalize();
      let bytes = await buffer(pack);
      for (const { at, byte } of changes) {
        const place = at % bytes.byteLength;
        if (byte === null) bytes = bytes.subarray(0, place);
        else bytes[place] = byte;
        if (bytes.byteLength === 0) break;
      }
      const paths: string[] = [];
      const reading = readArchive(inPieces(bytes), "archive", {
        consequence: "",
        onFolder: async (path) => void paths.push(path),
        async onFile(path, content) {
          paths.push(path);
          await buffer(content);
          return "0".repeat(64);
        },
      });
      await reading.catch((error: unknown) => {
        if (!(error instanceof StorageError) || error.code !== "corrupt") throw error;
      });
      for (const path of paths) {
        expect(path.split("/")).not.toContain("..");
        expect(path.startsWith("/") || path.includes("\0") || path === "").toBe(false);
      }
    }),
    cases(300),
  );
});

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  for (let at = 0; at < bytes.byteLength; at += 333) yield bytes.subarray(at, at + 333);
}

/** Messages of the runner: fields of any value, whose bytes may be damaged. */
function bodiesOf({ input }: DescMethod): fc.Arbitrary<Buffer> {
  const fields = fc.record(
    {
      taskId: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      index: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      tasksVersion: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      name: hostileText,
      token: hostileText,
      version: hostileText,
      labels: fc.array(hostileText, { maxLength: 5 }),
      noMore: fc.boolean(),
      outputs: fc.dictionary(hostileText, hostileText, { maxKeys: 3 }),
    },
    { requiredKeys: [] },
  );
  const whole = fields.map((values) => {
    const own = new Set(input.fields.map(({ localName }) => localName));
    const known = Object.entries(values).filter(([name]) => own.has(name));
    return Buffer.from(toBinary(input, create(input, Object.fromEntries(known))));
  });
  const raw = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
  const damaged = fc
    .tuple(whole, fc.nat(), fc.integer({ min: 0, max: 255 }))
    .map(([bytes, at, byte]) => {
      const changed = Buffer.from(bytes);
      if (changed.length > 0) changed[at % changed.length] = byte;
      return changed;
    });
  return fc.oneof(whole, damaged, raw);
}

test("messages of a runner are read or refused, whatever their bytes are", async () => {
  await using daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  const made = await daemon.request("/api/v1/admin/actions/runners/registration-token", {
    method: "POST",
    token: daemon.first?.forge.token ?? "",
  });
  const runner = await registerRunner(daemon, made.json.token, { name: "any", labels: ["any"] });
  const { seed, numRuns } = cases(60);
  for (const method of runnerService.methods) {
    const path = `/api/actions/runner.v1.RunnerService/${method.name}`;
    for (const body of fc.sample(bodiesOf(method), { seed, numRuns })) {
      const answer = await daemon.request(path, {
        method: "POST",
        body: Uint8Array.from(body),
        headers: {
          "Content-Type": "application/proto",
          "x-runner-uuid": runner.uuid,
          "x-runner-token": runner.token,
        },
      });
      // Gitea refuses in words with the code "unknown", whose status is 500.
      const isInWords = answer.json?.code === "unknown" && answer.json.message !== "";
      const request = `${method.name} ${body.toString("base64")} ${answer.text}`;
      expect(answer.status < 500 || isInWords, request).toBe(true);
    }
  }
  expect((await daemon.request("/readyz")).status).toBe(200);
});
