import { expect, test } from "vitest";
import { AppError } from "../../../../daemon/errors.ts";
import type { ServerRequest } from "../../../../daemon/http/handle.ts";
import { createPageHandler } from "../../../../daemon/pages/page-handler.ts";
import { post } from "../../../../daemon/pages/page.ts";
import type { Site } from "../../../../daemon/pages/site.ts";

const request = {
  target: "/keeper/kiln",
  method: "GET",
  headers: {},
  address: "192.0.2.1",
  signal: new AbortController().signal,
} as unknown as ServerRequest;

const deps = {
  publicUrl: () => "http://localhost",
  instanceName: "croft",
  limiter: {
    consume: async () => ({ allowed: true, remaining: 1, resetSeconds: 60 }),
    addressKey: (address: string) => address,
  },
  clock: () => 0,
  reportBug: (error: unknown) => {
    throw error;
  },
};

test("a form that shows why its caller must wait answers with the status and the time of that", async () => {
  const refusals = [
    new AppError("rate_limited", "too many", { retryAfterSeconds: 7 }),
    new AppError("unprocessable", "too long"),
  ];
  const answer = createPageHandler({
    ...deps,
    site: {
      name: "test.pages",
      pages: [
        post("/form", async ({ call }) => {
          const refusal = await call({} as never).catch((error: unknown) => error as AppError);
          return { kind: "page", title: "Form", status: 422, body: (refusal as AppError).message };
        }),
      ],
      cookie: { name: "test", path: "/" },
      signInPath: "/sign-in",
      header: () => null,
      operations: () => async () => {
        throw refusals.shift();
      },
    } as unknown as Site<never>,
  });
  const form = {
    ...request,
    target: "/form",
    method: "POST",
    headers: {
      "sec-fetch-site": "same-origin",
      "content-type": "application/x-www-form-urlencoded",
    },
  } as unknown as ServerRequest;
  const body = { whole: async () => Buffer.from("") } as unknown as Parameters<typeof answer>[1];
  const waits = await answer(form, body);
  expect(waits).toMatchObject({ status: 429, headers: { "Retry-After": "7" } });
  expect(waits.body).toContain("too many");
  const wrong = await answer(form, body);
  expect([wrong.status, Object.keys(wrong.headers)]).toEqual([
    422,
    expect.not.arrayContaining(["Retry-After"]),
  ]);
});

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
    ...deps,
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
