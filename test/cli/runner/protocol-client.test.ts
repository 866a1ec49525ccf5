import { expect, test } from "vitest";
import type { Transport } from "../../../cli/client/transport.ts";
import { createRunnerClient, isFinalRefusal } from "../../../cli/runner/protocol-client.ts";

/** The error of a call that is answered so. */
async function fail(status: number, text: string): Promise<unknown> {
  const send = async () => ({ status, headers: {}, body: Buffer.from(text) });
  const client = createRunnerClient({
    transport: { send } as unknown as Transport,
    url: async () => "http://127.0.0.1:9",
    credentials: undefined,
  });
  return client.fetchTask(1n, [], new AbortController().signal).then(
    () => undefined,
    (error: unknown) => error,
  );
}

test.each([
  [200, "<html>the proxy says hello</html>"],
  [502, "<html>bad gateway</html>"],
  [503, '{"code":"unavailable","message":"starting"}'],
])(
  "an answer of %s that is not the daemon's own can be followed by another: %s",
  async (status, text) => {
    const error = await fail(status, text);
    expect(error).toMatchObject({ name: "RunnerRefused" });
    expect(isFinalRefusal(error)).toBe(false);
  },
);

test("a refusal of the daemon is final", async () => {
  const error = await fail(500, '{"code":"unknown","message":"unregistered runner"}');
  expect(error).toMatchObject({ message: "unregistered runner" });
  expect(isFinalRefusal(error)).toBe(true);
});
