import { createServer, request, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { AppError } from "../../../../daemon/errors.ts";
import { readFileParts } from "../../../../daemon/http/file-parts.ts";

const part = (name: string, bytes: string) =>
  `--B\r\nContent-Disposition: form-data; name=""; filename="${name}"\r\n\r\n${bytes}\r\n`;

/**
 * Reads a form that is sent over a real connection; returns the files, and the failure behind them. The second part of a body
 * is sent when the reader has given up a file of the first.
 */
async function read(
  body: string | readonly [begin: string, rest: string],
  limits: {
    readonly filesMax?: number;
    readonly bytesMax?: number;
    readonly fileBytesMax?: number;
    readonly skippedBytesMax?: number;
  },
  isWanted: (name: string | undefined) => boolean = () => true,
): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  const isRead = Promise.withResolvers<void>();
  const isGivenUp = Promise.withResolvers<void>();
  const handle = async (message: IncomingMessage) => {
    try {
      const parts = readFileParts(message, {
        filesMax: 10,
        bytesMax: 100_000,
        fileBytesMax: 10_000,
        ...limits,
        toMalformed: (text) => new AppError("unprocessable", text),
      });
      for await (const { filename, stream } of parts) {
        if (!isWanted(filename)) {
          stream.once("close", () => isGivenUp.resolve());
          stream.destroy();
          continue;
        }
        const chunks = await Array.fromAsync(stream as AsyncIterable<Buffer>).catch(
          (error: unknown) => (error as AppError).code,
        );
        found.push([filename, typeof chunks === "string" ? chunks : String(Buffer.concat(chunks))]);
      }
    } catch (error) {
      found.push((error as AppError).code);
    }
  };
  const server = createServer((message, response) => {
    void handle(message).finally(() => response.end(() => isRead.resolve()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const sending = request({
    port: (server.address() as AddressInfo).port,
    method: "POST",
    headers: { "Content-Type": "multipart/form-data; boundary=B" },
  });
  sending.on("error", () => undefined);
  sending.on("response", (response) => response.resume());
  if (typeof body === "string") sending.end(body);
  else {
    sending.write(body[0]);
    void isGivenUp.promise.then(() => sending.end(body[1]));
  }
  await isRead.promise;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return found;
}

test("yields the files of a form in their order", async () => {
  const body = `${part("a", "1")}${part("b", "")}${part("c", "x".repeat(9_000))}--B--\r\n`;
  expect(await read(body, {})).toEqual([
    ["a", "1"],
    ["b", ""],
    ["c", "x".repeat(9_000)],
  ]);
});

test("fails a file that is too large at its end and yields the next one", async () => {
  const body = `${part("a", "x".repeat(50))}${part("b", "2")}--B--\r\n`;
  expect(await read(body, { fileBytesMax: 10 })).toEqual([
    ["a", "too_large"],
    ["b", "2"],
  ]);
});

test("reads the rest of a file that its reader gave up to a bound, and the files after it within the bound", async () => {
  const body = (bytes: number) =>
    `${part("a", "1")}${part("b", "x".repeat(bytes))}${part("c", "3")}--B--\r\n`;
  const isWanted = (name: string | undefined) => name !== "b";
  const limits = { skippedBytesMax: 500_000, bytesMax: 10_000_000, fileBytesMax: 5_000_000 };
  const [a, c] = [
    ["a", "1"],
    ["c", "3"],
  ];
  expect(await read(body(400_000), limits, isWanted)).toEqual([a, c]);
  expect(await read(body(4_000_000), limits, isWanted)).toEqual([a, "too_large"]);
  // A file that is wanted and read whole has no such bound.
  const [, whole] = (await read(body(4_000_000), limits)) as [unknown, [string, string], unknown];
  expect(whole[1]).toHaveLength(4_000_000);
  const cut = await read(body(4_000_000), { ...limits, fileBytesMax: 1_000 });
  expect(cut).toEqual([a, ["b", "too_large"], "too_large"]);
});

test("yields the files after one that its reader gave up before its last bytes had arrived", async () => {
  const given = part("b", "x".repeat(2_000));
  const body = [
    `${part("a", "1")}${given.slice(0, 1_000)}`,
    `${given.slice(1_000)}${part("c", "3")}--B--\r\n`,
  ] as const;
  expect(await read(body, {}, (name) => name !== "b")).toEqual([
    ["a", "1"],
    ["c", "3"],
  ]);
});

test("refuses more files than allowed after those before them", async () => {
  const body = `${part("a", "1")}${part("b", "2")}${part("c", "3")}--B--\r\n`;
  expect(await read(body, { filesMax: 2 })).toEqual([["a", "1"], ["b", "2"], "too_large"]);
});

test("counts parts that are no files as files", async () => {
  const body = `${part("a", "1")}${"--B\r\n\r\n\r\n".repeat(5_000)}--B--\r\n`;
  expect((await read(body, { filesMax: 10 })).at(-1)).toBe("too_large");
});

test("refuses a body that is larger than announced or allowed", async () => {
  const body = `${part("a", "x".repeat(5_000))}--B--\r\n`;
  expect((await read(body, { bytesMax: 1_000 })).at(-1)).toBe("too_large");
});

test("refuses a form that ends in the middle of a file", async () => {
  const found = await read(`${part("a", "1")}${part("b", "2").slice(0, -2)}`, {});
  expect(found[0]).toEqual(["a", "1"]);
  expect(found.at(-1)).toBe("unprocessable");
  expect(found).not.toContainEqual(["b", "2"]);
});
