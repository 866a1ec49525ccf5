import { describe, expect, test } from "vitest";
import { createClientAddress, limitAddress } from "../../../../daemon/http/client-address.ts";

const DEFAULTS = ["127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128"];

function clientOf(
  peer: string | undefined,
  forwarded?: string | string[],
  trusted = DEFAULTS,
): string {
  const message = {
    socket: { remoteAddress: peer },
    headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
  };
  return createClientAddress(trusted)(message as never);
}

describe("the client's address", () => {
  test.each([
    ["203.0.113.7", "203.0.113.7"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["2001:db8::1", "2001:db8::1"],
    ["fe80::1%eth0", "fe80::1"],
    ["127.0.0.1", "127.0.0.1"],
    [undefined, "unknown"],
  ])("the client's address is the peer's without a header: %s", (peer, address) => {
    expect(clientOf(peer)).toBe(address);
  });

  test.each([
    ["127.0.0.1", "198.51.100.4"],
    ["::1", "198.51.100.4"],
    ["::ffff:127.0.0.1", "198.51.100.4"],
    ["172.31.255.255", "198.51.100.4"],
    ["192.168.1.1", "198.51.100.4"],
    ["172.32.0.1", "172.32.0.1"],
    ["10.0.0.1", "10.0.0.1"],
    ["203.0.113.7", "203.0.113.7"],
  ])("the client's address is the header's from a trusted peer only: %s", (peer, address) => {
    expect(clientOf(peer, "198.51.100.4")).toBe(address);
  });

  test.each([
    ["198.51.100.4", "198.51.100.4"],
    ["1.1.1.1, 198.51.100.4", "198.51.100.4"],
    ["1.1.1.1, 198.51.100.4, 192.168.1.9, 127.0.0.1", "198.51.100.4"],
    ["192.168.1.9, 192.168.1.8", "192.168.1.9"],
    ["2001:db8::5", "2001:db8::5"],
    ["[2001:db8::5]:4711", "2001:db8::5"],
    ["198.51.100.4:4711", "198.51.100.4"],
    ["::ffff:198.51.100.4", "198.51.100.4"],
    [" 198.51.100.4 ", "198.51.100.4"],
  ])("the client's address is the right-most untrusted hop of %j", (header, address) => {
    expect(clientOf("127.0.0.1", header)).toBe(address);
  });

  test.each([
    ["", "127.0.0.1"],
    ["garbage", "127.0.0.1"],
    ["198.51.100.4, garbage", "127.0.0.1"],
    ["garbage, 198.51.100.4", "198.51.100.4"],
    ["198.51.100.4, garbage, 192.168.1.9", "192.168.1.9"],
    ["unknown", "127.0.0.1"],
    ["0x7f.1", "127.0.0.1"],
    ["010.1.1.1", "127.0.0.1"],
    ["3232235777", "127.0.0.1"],
    ["1.2.3.4\r\nx", "127.0.0.1"],
    ["198.51.100.4,", "127.0.0.1"],
  ])("ignores a text that is not an address and everything to its left: %j", (header, address) => {
    expect(clientOf("127.0.0.1", header)).toBe(address);
  });

  test("reads several headers as one list", () => {
    expect(clientOf("127.0.0.1", ["1.1.1.1", "198.51.100.4"])).toBe("198.51.100.4");
  });

  test("reads a bounded number of hops", () => {
    const header = `198.51.100.4,${"127.0.0.1,".repeat(100_000)}127.0.0.1`;
    expect(clientOf("127.0.0.1", header)).toBe("127.0.0.1");
  });

  test("the client's address is never the header's when no proxy is trusted", () => {
    expect(clientOf("127.0.0.1", "198.51.100.4", [])).toBe("127.0.0.1");
  });

  test("trusts single addresses and mapped ranges too, and refuses an invalid range", () => {
    expect(clientOf("10.1.2.3", "198.51.100.4", ["10.1.2.3"])).toBe("198.51.100.4");
    expect(clientOf("10.1.2.3", "198.51.100.4", ["::ffff:10.0.0.0/104"])).toBe("198.51.100.4");
    expect(clientOf("2001:db8::1", "198.51.100.4", ["2001:db8::/32"])).toBe("198.51.100.4");
    expect(() => createClientAddress(["everyone"])).toThrow();
  });
});

describe("the address that limits count", () => {
  test.each([
    ["203.0.113.7", "203.0.113.7"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["::ffff:cb00:7107", "203.0.113.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"],
    ["2001:db8:1:3::1", "2001:db8:1:3::/64"],
    ["::1", "::/64"],
    ["garbage", "unknown"],
  ])("%s counts as %s", (address, key) => {
    expect(limitAddress(address)).toBe(key);
  });
});
