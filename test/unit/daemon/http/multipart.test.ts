import { mkdtemp, readdir } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { anyone, endpoint, multipart } from "../../../../daemon/contract/endpoint.ts";
import { AppError } from "../../../../daemon/errors.ts";
import type { MultipartForm, Route } from "../../../../daemon/http/handle.ts";
import { serveRoutes } from "../../../support/http-app.ts";
import { openFilesBelow } from "../../../support/open-files.ts";

const upload = endpoint({
  name: "test.upload",
  method: "POST",
  path: "/api/upload",
  summary: "upload",
  gate: anyone,
  body: multipart(z.object({ folder: z.string().optional() })),
  replies: {
    200: z.object({
      folder: z.string().nullable(),
      name: z.string().nullable(),
      content: z.string().nullable(),
      spooled: z.boolean(),
    }),
  },
});

const outcomes: string[] = [];
const route: Route = {
  endpoint: upload,
  handler: async ({ body }) => {
    const { fields, file } = body as MultipartForm<{ folder?: string }>;
    outcomes.push("started");
    try {
      return {
        status: 200,
        body: {
          folder: fields.folder ?? null,
          name: file?.filename ?? null,
          content: file === undefined ? null : await text(file.stream),
          spooled: file?.size !== undefined,
        },
      };
    } catch (error) {
      outcomes.push(error instanceof AppError ? error.code : String(error));
      throw error;
    }
  },
};

let temporaryDirectory: string;
beforeEach(async () => {
  outcomes.length = 0;
  temporaryDirectory = await mkdtemp(join(tmpdir(), "croft-form-"));
});

const serve = () => serveRoutes([route], { temporaryDirectory, maxUploadBytes: 1000 });

async function send(parts: [string, string | File][]) {
  await using app = await serve();
  const form = new FormData();
  for (const [name, value] of parts) form.append(name, value);
  const response = await fetch(`${app.url}/api/upload`, { method: "POST", body: form });
  return { status: response.status, body: await response.json() };
}

describe("a form with a file", () => {
  const file = new File(["hello"], "grüße 🎉.txt", { type: "text/plain" });

  test("after its fields is handed on as it arrives", async () => {
    expect(
      await send([
        ["folder", "docs"],
        ["file", file],
      ]),
    ).toEqual({
      status: 200,
      body: { folder: "docs", name: "grüße 🎉.txt", content: "hello", spooled: false },
    });
  });

  test("before its fields waits for them and leaves nothing behind", async () => {
    expect(
      await send([
        ["file", file],
        ["folder", "docs"],
      ]),
    ).toEqual({
      status: 200,
      body: { folder: "docs", name: "grüße 🎉.txt", content: "hello", spooled: true },
    });
    expect(await readdir(temporaryDirectory)).toEqual([]);
  });

  test("waits for the fields that matter behind others", async () => {
    const answer = await send([
      ["more", "x"],
      ["file", file],
      ["folder", "docs"],
    ]);
    expect(answer.body).toMatchObject({ folder: "docs", spooled: true });
  });

  test.each([
    ["..", ".."],
    [".", "."],
    ["../..", ".."],
    ["C:\\fakepath\\notes.txt", "notes.txt"],
    ["/tmp/notes.txt", "notes.txt"],
    ["notes/", null],
  ])("called %j has the name %j", async (given, name) => {
    const answer = await send([["file", new File(["x"], given)]]);
    expect(answer).toMatchObject({ status: 200, body: { name } });
  });

  test("a form with a file may be left out", async () => {
    expect((await send([["folder", "docs"]])).body).toMatchObject({
      folder: "docs",
      content: null,
    });
  });

  test("a form with a file of exactly the limit passes, one byte more does not, streamed or spooled", async () => {
    const of = (size: number) => new File(["x".repeat(size)], "x");
    for (const order of [
      (size: number): [string, string | File][] => [
        ["folder", "a"],
        ["file", of(size)],
      ],
      (size: number): [string, string | File][] => [
        ["file", of(size)],
        ["folder", "a"],
      ],
    ]) {
      expect((await send(order(1000))).status).toBe(200);
      expect((await send(order(1001))).status).toBe(413);
    }
    expect(await readdir(temporaryDirectory)).toEqual([]);
  });
});

describe("attack: malformed forms", () => {
  const post = async (contentType: string, body: string) => {
    await using app = await serve();
    const response = await fetch(`${app.url}/api/upload`, {
      method: "POST",
      headers: { "content-type": contentType },
      body,
    });
    return response.status;
  };

  test.each([
    ["application/json", "{}"],
    ["multipart/form-data", "no boundary"],
    ["multipart/form-data; boundary=x", "garbage"],
    ["multipart/form-data; boundary=x", "--x\r\nno headers at all"],
    [
      "multipart/form-data; boundary=x",
      '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\ncut off',
    ],
    [
      "multipart/form-data; boundary=x",
      '--x\r\nContent-Disposition: form-data; name="folder"\r\n\r\na\r\n--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\ncut off',
    ],
  ])("%s with %j is 422", async (contentType, body) => {
    expect(await post(contentType, body)).toBe(422);
  });

  test("very many parts without a name are 422", async () => {
    const file = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nb\r\n';
    const body = (parts: number) => `${file}${"--x\r\n\r\n\r\n".repeat(parts)}--x--\r\n`;
    expect(await post("multipart/form-data; boundary=x", body(10))).toBe(200);
    expect(await post("multipart/form-data; boundary=x", body(5_000))).toBe(422);
  });

  test("two files and too many fields are 422", async () => {
    const file = new File(["a"], "a");
    expect(
      (
        await send([
          ["file", file],
          ["file", file],
        ])
      ).status,
    ).toBe(422);
    const fields = Array.from({ length: 40 }, (_, i): [string, string] => [`f${i}`, "x"]);
    expect((await send(fields)).status).toBe(422);
  });

  const disposition = (rest: string) => `--x\r\nContent-Disposition: form-data; ${rest}\r\n\r\n`;
  test.each([
    ["a field", 'name="folder"'],
    ["a second file", 'name="file"; filename="b"'],
  ])("%s behind a file that is on its way already fails the file", async (_what, late) => {
    const response = await sendBehindFile(late);
    expect(response.status).toBe(422);
    expect(outcomes).toEqual(["started", "unprocessable"]);
  });

  test("an undeclared field may follow the file", async () => {
    expect((await sendBehindFile('name="more"')).status).toBe(200);
  });

  /** A form whose file is read by the handler already when `late` comes. */
  async function sendBehindFile(late: string): Promise<Response> {
    await using app = await serve();
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        const write = (text: string) => controller.enqueue(Buffer.from(text));
        write(`${disposition('name="folder"')}a\r\n`);
        write(`${disposition('name="file"; filename="a"')}bytes`);
        await expect.poll(() => outcomes).toEqual(["started"]);
        write(`\r\n${disposition(late)}b\r\n--x--\r\n`);
        controller.close();
      },
    });
    return await fetch(`${app.url}/api/upload`, {
      method: "POST",
      headers: { "content-type": "multipart/form-data; boundary=x" },
      body,
      // The types of highlight.js bring the browser's, which lack it.
      duplex: "half",
    } as RequestInit);
  }

  test("a form that is refused leaves no file open, and its sender reads why", async () => {
    await using app = await serve();
    const file = (name: string) =>
      `${disposition(`name="file"; filename="${name}"`)}${"x".repeat(900)}\r\n`;
    const response = await fetch(`${app.url}/api/upload`, {
      method: "POST",
      headers: { "content-type": "multipart/form-data; boundary=x" },
      body: Readable.from([file("a"), file("b"), "y".repeat(200_000), "\r\n--x--\r\n"]),
      duplex: "half",
    } as unknown as RequestInit);
    expect(response.status).toBe(422);
    await expect.poll(() => openFilesBelow(temporaryDirectory)).toEqual([]);
  });

  test("a field behind the file that is not a value of its kind leaves no file open", async () => {
    const body = multipart(z.object({ folder: z.enum(["a", "b"]).optional() }));
    await using app = await serveRoutes([{ ...route, endpoint: { ...upload, body } }], {
      temporaryDirectory,
    });
    const form = new FormData();
    form.append("file", new File(["hello"], "a"));
    form.append("folder", "nowhere");
    const response = await fetch(`${app.url}/api/upload`, { method: "POST", body: form });
    expect(response.status).toBe(422);
    await expect.poll(() => openFilesBelow(temporaryDirectory)).toEqual([]);
    await expect.poll(() => readdir(temporaryDirectory)).toEqual([]);
  });

  test("a handler that refuses without reading the file leaves no file open", async () => {
    const refusing = async () => {
      throw new AppError("forbidden", "No.");
    };
    await using app = await serveRoutes([{ ...route, handler: refusing }], { temporaryDirectory });
    const form = new FormData();
    form.append("file", new File(["hello"], "a"));
    form.append("folder", "docs");
    const response = await fetch(`${app.url}/api/upload`, { method: "POST", body: form });
    expect(response.status).toBe(403);
    await expect.poll(() => openFilesBelow(temporaryDirectory)).toEqual([]);
  });

  test("an aborted connection fails the file's stream and never ends it early", async () => {
    await using app = await serve();
    const { port } = new URL(app.url);
    const socket = connect(Number(port), "127.0.0.1");
    socket.write(
      "POST /api/upload HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 900\r\n\r\n" +
        '--x\r\nContent-Disposition: form-data; name="folder"\r\n\r\na\r\n' +
        '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\npartial',
    );
    await expect.poll(() => outcomes).toEqual(["started"]);
    socket.destroy();
    await expect.poll(() => outcomes).toEqual(["started", "invalid_argument"]);
  });
});
