import type { TestAnswer, TestRequest } from "./daemon.ts";

/** Sends a request by `fetch`, without following redirects, and reads the answer whole. */
export async function sendRequest(
  url: string,
  path: string,
  init: TestRequest = {},
): Promise<TestAnswer> {
  const headers = new Headers(init.headers);
  if (init.token !== undefined) headers.set("Authorization", `token ${init.token}`);
  if (init.bearer !== undefined) headers.set("Authorization", `Bearer ${init.bearer}`);
  if (init.basic !== undefined)
    headers.set("Authorization", `Basic ${Buffer.from(init.basic).toString("base64")}`);
  if (init.json !== undefined) headers.set("Content-Type", "application/json");
  const body = init.json === undefined ? init.body : JSON.stringify(init.json);
  const response = await fetch(url + path, {
    method: init.method ?? (body === undefined ? "GET" : "POST"),
    headers,
    redirect: "manual",
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json") === true && text !== "";
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  };
}
