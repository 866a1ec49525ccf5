import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { createProtocolLog } from "../../../../../daemon/forge/actions/protocol/protocol-log.ts";
import type { RequestReport } from "../../../../../daemon/http/bind.ts";
import type { ServerRequest } from "../../../../../daemon/http/handle.ts";

function createLog() {
  const reports: RequestReport[] = [];
  let now = 0;
  const log = createProtocolLog({
    toServerRequest: () => ({ id: "1" }) as ServerRequest,
    report: (each) => reports.push(each),
    clock: () => now,
  });
  const request = (method: string, statusCode: number, headersSent = true) => {
    const response = Object.assign(new EventEmitter(), { statusCode, headersSent });
    log({} as IncomingMessage, response as unknown as ServerResponse, method);
    response.emit("close");
    return reports.at(-1);
  };
  const levels = () => reports.map(({ level }) => level);
  return { request, reports, levels, pass: (ms: number) => void (now += ms) };
}

test("frequent methods of runners are logged at level debug, and their refusals at level info", () => {
  const { request } = createLog();
  const route = "forge.actions.runners.protocol.FetchTask";
  expect(request("FetchTask", 200)).toMatchObject({ route, status: 200, level: "debug" });
  expect(request("FetchTask", 500)).toMatchObject({ route, status: 500, level: "info" });
  expect(request("Register", 200)).toMatchObject({ status: 200, level: "info" });
  expect(request("FetchTask", 200, false)).toMatchObject({ status: 499, level: "info" });
});

test("refused requests of runners have 30 lines a minute for each method, and all are counted", () => {
  const { request, reports, levels, pass } = createLog();
  for (let count = 0; count < 1_000; count += 1) request("Declare", 500);
  expect(reports).toHaveLength(1_000);
  expect(levels().filter((level) => level === "info")).toHaveLength(30);
  expect(request("Register", 500)).toMatchObject({ level: "info" });
  pass(59_999);
  expect(request("Declare", 500)).toMatchObject({ level: "none" });
  pass(1);
  expect(request("Declare", 500)).toMatchObject({ level: "info" });
});
