import { once } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import type { ObjectStore } from "../../../../../storage/objects/object-store.ts";
import { readUploadForm } from "../../../../../daemon/forge/packages/pypi/upload-form.ts";

const field = (name: string, value: string) =>
  `--B\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const FILE = `--B\r\nContent-Disposition: form-data; name="content"; filename="a-1.zip"\r\n\r\n0123456789\r\n`;
const FORM = `${field("name", "a")}${field("classifiers", "x")}${FILE}${field("classifiers", "y")}--B--\r\n`;
const headers = { "content-type": "multipart/form-data; boundary=B" };

type Step = "create" | "write" | "seal";

/** A store whose step fails as on a full disk; tells what it holds. */
function createStore(failing?: Step) {
  const kept = new Set<object>();
  const step = async (name: Step) => {
    if (name === failing) throw Object.assign(new Error("ENOSPC"), { syscall: "write" });
  };
  const store = {
    async create() {
      await step("create");
      const chunks: Buffer[] = [];
      const writer = {
        size: 0,
        async write(bytes: Buffer) {
          await step("write");
          chunks.push(bytes);
          writer.size += bytes.length;
        },
        async seal() {
          await step("seal");
          return { sha256: Buffer.concat(chunks).toString(), size: writer.size };
        },
        publish: async () => undefined,
        discard: async () => void kept.delete(writer),
      };
      kept.add(writer);
      return writer;
    },
  } as unknown as ObjectStore;
  return { store, kept };
}

const toChunks = (text: string, size: number) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    Buffer.from(text.slice(at * size, (at + 1) * size)),
  );

test.each([1, 7, 10_000])("a form is read in chunks of %i bytes", async (size) => {
  const { store, kept } = createStore();
  const stream = Readable.from(toChunks(FORM, size), { objectMode: false });
  const upload = await readUploadForm(store, { headers, stream }, 100);
  expect(upload.fields.get("classifiers")).toEqual(["x", "y"]);
  expect(upload.received.digests.sha256).toBe("0123456789");
  await upload.received.discard();
  expect(kept.size).toBe(0);
});

test("a form that breaks off anywhere is refused, and keeps nothing", async () => {
  for (let length = 0; length < FORM.length - 4; length += 1) {
    for (const isReset of [false, true]) {
      const { store, kept } = createStore();
      const stream = new PassThrough();
      const reading = readUploadForm(store, { headers, stream }, 100);
      stream.write(FORM.slice(0, length));
      if (isReset) stream.destroy(new Error("aborted"));
      else stream.end();
      await expect(reading, `${length}`).rejects.toMatchObject({ code: "invalid_argument" });
      expect(kept.size).toBe(0);
    }
  }
});

test.each(["create", "write", "seal"] as const)(
  "a form whose file cannot be stored at the step %s fails as the disk does, and keeps nothing",
  async (failing) => {
    const { store, kept } = createStore(failing);
    const stream = Readable.from(toChunks(FORM, 5), { objectMode: false });
    await expect(readUploadForm(store, { headers, stream }, 100)).rejects.toThrow("ENOSPC");
    expect(kept.size).toBe(0);
  },
);

test("a form whose client has left before it is read is refused", async () => {
  const { store, kept } = createStore();
  const stream = new PassThrough();
  stream.destroy();
  await once(stream, "close");
  await expect(readUploadForm(store, { headers, stream }, 100)).rejects.toMatchObject({
    code: "invalid_argument",
  });
  expect(kept.size).toBe(0);
});
