import { expect, test } from "vitest";
import { AppError } from "../../../../daemon/errors.ts";
import type { ServerRequest } from "../../../../daemon/http/handle.ts";
import { createPageHandler } from "../../../../daemon/pages/page-handler.ts";
import type { Site } from "../../../../daemon/pages/site.ts";

const request = {
  target: "/keeper/kiln",
  method: "GET",
  headers: {},
  address: "192.0.2.1",
  signal: new AbortController().signal,
} as unknown as ServerRequest;

test("a page that is refused says when to try again, as the API does, if it is known", async () => {
  const refusals = [
    new AppError("unavailable", "too many downloads", { retryAfterSeconds: 5 }),
    new AppError("not_found", "not found"),
  ];
  const answer = createPageHandler({
    site: {
      name: "test.pages",
      pages: [],
      cookie: { name: "test", path: "/" },
      signInPath: "/sign-in",
      header: () => null,
      answerFirst: () => {
        throw refusals.shift();
      },
    } as unknown as Site<never>,
    publicUrl: () => "http://localhost",
    instanceName: "croft",
    limiter: {
      consume: async () => ({ allowed: true, remaining: 1, resetSeconds: 60 }),
      addressKey: (address) => address,
    },
    clock: () => 0,
    reportBug: (error) => {
      throw error;
    },
  });
  const noForm = {} as Parameters<typeof answer>[1];
  expect(await answer(request, noForm)).toMatchObject({
    status: 503,
    headers: { "Retry-After": "5", "Cache-Control": "no-store" },
  });
  const missing = await answer(request, noForm);
  expect([missing.status, missing.headers]).toEqual([
    404,
    expect.not.objectContaining({ "Retry-After": expect.anything() }),
  ]);
});
