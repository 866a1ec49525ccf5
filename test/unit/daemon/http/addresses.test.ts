import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { createAddresses } from "../../../../daemon/http/addresses.ts";
import { resolveSettings } from "../../../../daemon/settings/resolve.ts";

function addressesWith(env: Readonly<Record<string, string>>) {
  const { settings } = resolveSettings({
    env: { CROFT_HOME: "/home/mira/croft", ...env },
    platform: "linux",
    homeDirectory: "/home/mira",
    workingDirectory: "/",
    flags: {},
    fileText: undefined,
    filePath: "/home/mira/croft/config.yaml",
    readFile: () => "",
    parseFile: () => ({}),
  });
  return createAddresses(settings);
}

function requestFor(host: string): IncomingMessage {
  const request = { headers: { host }, rawHeaders: ["Host", host], method: "GET", url: "/healthz" };
  return request as unknown as IncomingMessage;
}

test("an allowed host that is an address of IPv6 is found as clients write it, with and without port", () => {
  const addresses = addressesWith({ CROFT_ALLOWED_HOSTS: "2001:DB8:0:0::5,[fd00::7]" });
  for (const host of ["[2001:db8::5]:7420", "[2001:db8::5]", "[fd00::7]:7420"])
    expect(addresses.checkHost(requestFor(host)), host).toBeUndefined();
  expect(addresses.checkHost(requestFor("[2001:db8::6]:7420"))?.status).toBe(421);
});

test("a certificate is for addresses of IPv6 as a whole", () => {
  const addresses = addressesWith({ CROFT_ALLOWED_HOSTS: "2001:db8::5", CROFT_HOST: "[::1]" });
  expect(addresses.names()).toEqual(["::1", "2001:db8::5"]);
});

test("the port of SSH is the daemon's own, also when clients reach it by another one", () => {
  const addresses = addressesWith({ CROFT_SSH_PUBLIC_PORT: "22" });
  addresses.listening(["http://127.0.0.1:7420"]);
  expect(addresses.own()).toEqual([{ address: "127.0.0.1", port: 7420 }]);
  addresses.listeningSsh(7422);
  expect(addresses.own()).toEqual([
    { address: "127.0.0.1", port: 7420 },
    { address: "127.0.0.1", port: 7422 },
  ]);
});
