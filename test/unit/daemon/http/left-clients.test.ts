import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { AppError } from "../../../../daemon/errors.ts";
import { cutUnreadResponse } from "../../../../daemon/http/bytes.ts";
import { readFileParts } from "../../../../daemon/http/file-parts.ts";
import { readMultipart } from "../../../../daemon/http/multipart.ts";
import {
  cutRevokedBody,
  cutStalledBody,
  readWholeBody,
} from "../../../../daemon/http/request-body.ts";

// A client may leave while its credentials are checked. Then the events of its request are over before anybody listens to
// them: what waits for one would wait, or repeat its check, for ever.

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

const toMalformed = (message: string, cause?: unknown) =>
  new AppError("unprocessable", message, { cause });

/** Returns a form that has arrived up to `sent`, and whose client has left. */
async function leave(sent: "partly" | "wholly"): Promise<[IncomingMessage, ServerResponse]> {
  const asked = Promise.withResolvers<[IncomingMessage, ServerResponse]>();
  const server = createServer((message, response) => asked.resolve([message, response]));
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const body = '--B\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--B--\r\n';
  const size = body.length + (sent === "partly" ? 10 : 0);
  socket.write(
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=B\r\nContent-Length: ${size}\r\n\r\n${body}`,
  );
  const [message, response] = await asked.promise;
  // A reader such as the one of credentials, which looks at no byte of the body.
  const closed = once(response, "close");
  socket.resetAndDestroy();
  await closed;
  await vi.waitUntil(() => message.destroyed, { timeout: 60_000 });
  return [message, response];
}

test.each(["partly", "wholly"] as const)(
  "what reads a body that has arrived %s fails at once when the client has left before",
  async (sent) => {
    const [message] = await leave(sent);
    const memory = { grow: () => undefined, release: () => undefined };
    const parts = async () => {
      const options = { filesMax: 3, bytesMax: 1000, fileBytesMax: 1000, toMalformed };
      for await (const { stream } of readFileParts(message, options)) stream.resume();
    };
    await expect(parts()).rejects.toThrow(AppError);
    const form = readMultipart(message, {
      maxFileBytes: 1000,
      temporaryDirectory: "",
      spooled: memory,
      fieldNames: ["a"],
      toMalformed,
    });
    await expect(form).rejects.toThrow(AppError);
    const whole = readWholeBody(message, { maxBytes: 1000, memory });
    await expect(whole).rejects.toThrow(AppError);
  },
);

test("no timer watches the request of a client that has left before", async () => {
  const [message, response] = await leave("partly");
  cutStalledBody(message);
  await cutRevokedBody(message, async () => true);
  cutUnreadResponse(response);
  expect(vi.getTimerCount()).toBe(0);
});
