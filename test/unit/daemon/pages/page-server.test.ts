import type { IncomingMessage, ServerResponse } from "node:http";
import { expect, test } from "vitest";
import type { BodyBudgets } from "../../../../daemon/http/body-memory.ts";
import type { ServerRequest } from "../../../../daemon/http/handle.ts";
import { createPageServer } from "../../../../daemon/pages/page-server.ts";

test("the memory of a form is given back when its page fails", async () => {
  let [taken, released] = [0, 0];
  const memory = { grow: () => undefined, release: () => void (released += 1) };
  const serve = createPageServer({
    siteName: "test",
    answerPage: () => Promise.reject(new Error("the page fails")),
    toServerRequest: () => ({ address: "192.0.2.1" }) as ServerRequest,
    bodies: {
      anonymous: () => {
        taken += 1;
        return memory;
      },
    } as unknown as BodyBudgets,
    addressKey: (address) => address,
    uploadBytesMax: 1,
    report: () => undefined,
  });
  await expect(serve({} as IncomingMessage, {} as ServerResponse)).rejects.toThrow("page fails");
  expect([taken, released]).toEqual([1, 1]);
});
