import { describe, expect, test } from "vitest";
import { createClientAddress, toLimitKey } from "../../../../daemon/http/client-address.ts";

const clientAddress = createClientAddress(["127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128"]);

describe("attack: a forged X-Forwarded-For", () => {
  test.each([
    // peer, header, client
    ["203.0.113.9", undefined, "203.0.113.9"],
    ["203.0.113.9", "198.51.100.1", "203.0.113.9"],
    ["10.0.0.1", "198.51.100.1", "10.0.0.1"],
    ["127.0.0.1", undefined, "127.0.0.1"],
    ["127.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["::ffff:127.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["::ffff:203.0.113.9", "198.51.100.1", "203.0.113.9"],
    ["::1", "2001:db8::1", "2001:db8::1"],
    ["127.0.0.1", "1.1.1.1, 198.51.100.1", "198.51.100.1"],
    ["127.0.0.1", "1.1.1.1, 198.51.100.1, 192.168.1.4", "198.51.100.1"],
    ["127.0.0.1", "192.168.1.4, 172.16.0.9", "192.168.1.4"],
    ["127.0.0.1", "1.1.1.1, nonsense", "127.0.0.1"],
    ["127.0.0.1", "1.1.1.1, nonsense, 192.168.1.4", "192.168.1.4"],
    ["127.0.0.1", "", "127.0.0.1"],
    ["127.0.0.1", "0x7f.1", "127.0.0.1"],
    ["127.0.0.1", "198.51.100.1:4711", "127.0.0.1"],
    [undefined, "198.51.100.1", ""],
  ])("peer %s, header %j: %s", (peer, header, client) => {
    expect(clientAddress(peer, header)).toBe(client);
  });

  test("with no trusted peers the header never counts", () => {
    expect(createClientAddress([])("127.0.0.1", "198.51.100.1")).toBe("127.0.0.1");
  });
});

test("one IPv6 network is one caller, an IPv4 address is one however it is written", () => {
  expect(toLimitKey("2001:db8:1:2::1")).toBe(toLimitKey("2001:db8:1:2:ffff::9"));
  expect(toLimitKey("2001:db8:1:2::1")).not.toBe(toLimitKey("2001:db8:1:3::1"));
  expect(toLimitKey("::ffff:198.51.100.1")).toBe("198.51.100.1");
});
