import { Readable } from "node:stream";
import { afterEach, expect, test } from "vitest";
import type { CloudProvider } from "../../../../../storage/cloud/provider.ts";
import {
  calm,
  mkdir,
  names,
  pattern,
  remove,
  stat,
  tryUpload,
} from "../../../../conformance/cloud-provider/acting.ts";
import { openS3Subject, type S3Subject } from "../../../../support/cloud/s3-subject.ts";

let subject: S3Subject | undefined;
afterEach(async () => {
  await subject?.[Symbol.asyncDispose]();
  subject = undefined;
});

async function open(): Promise<S3Subject & { tick(ms: number): void; connected: CloudProvider }> {
  const opened = await openS3Subject({ server: { pageEntries: 1000 } });
  subject = opened;
  let now = Date.now();
  const deps = { ...opened.deps, clock: () => now };
  const connected = await opened.connect({ deps, probeResult: opened.probeResult });
  await mkdir(connected, "", "in");
  return Object.assign(opened, { connected, tick: (ms: number) => void (now += ms) });
}

/** Begins an upload into the folder `in` that ends when the returned function is called. */
function hold(provider: CloudProvider, name: string): () => Promise<string> {
  const content = new Readable({ read: () => undefined });
  const uploading = provider.upload({
    parent: "in",
    name,
    content,
    size: undefined,
    contentType: undefined,
    signal: calm,
  });
  return async () => {
    content.push(pattern(10));
    content.push(null);
    return (await uploading).kind;
  };
}

test("concurrent uploads into one folder share a listing of it", async () => {
  const { connected, server } = await open();
  const before = server.log.length;
  const files = Array.from({ length: 48 }, (_, at) => `file-${at}`);
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let name = files.pop(); name !== undefined; name = files.pop())
        expect((await tryUpload(connected, "in", name, pattern(100))).kind).toBe("ok");
    }),
  );
  expect((await names(connected, "in")).length).toBe(48);
  const listings = server.log.slice(before).filter((line) => line.includes("list-type"));
  // Three a file without sharing; the first upload is alone, and each of the last ones may be.
  expect(listings.length).toBeLessThan(20);
});

test("a folder that is created during uploads keeps its name to itself", async () => {
  const { connected, other } = await open();
  const finish = hold(connected, "held");
  const [one, two] = [hold(connected, "one"), hold(connected, "two")];
  expect(await one()).toBe("ok");
  await mkdir(other, "in", "taken");
  expect((await tryUpload(connected, "in", "taken", pattern(10))).kind).toBe("conflict");
  expect([await two(), await finish()]).toEqual(["ok", "ok"]);
  expect(await names(connected, "in")).toEqual(["held", "one", "taken", "two"]);
});

test("an upload into a folder that another connection deletes meanwhile is stale", async () => {
  const { connected, other } = await open();
  const finish = hold(connected, "held");
  const one = hold(connected, "one");
  expect(await one()).toBe("ok");
  const folder = await stat(other, "in");
  expect((await remove(other, folder)).kind).toBe("ok");
  expect((await tryUpload(connected, "in", "late", pattern(10))).kind).toBe("stale");
  expect(await finish()).toBe("stale");
  expect(await names(connected, "")).toEqual([]);
});

test("a folder that another program creates during uploads is seen after two seconds", async () => {
  const { connected, server, tick } = await open();
  const finish = hold(connected, "held");
  const [one, two] = [hold(connected, "one"), hold(connected, "two")];
  expect(await one()).toBe("ok");
  server.store.put("in/theirs/file", Buffer.from("theirs"), {});
  tick(2_001);
  expect((await tryUpload(connected, "in", "theirs", pattern(10))).kind).toBe("conflict");
  expect([await two(), await finish()]).toEqual(["ok", "ok"]);
});
