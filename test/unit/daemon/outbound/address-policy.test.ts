import { describe, expect, test } from "vitest";
import {
  type AddressPolicy,
  createAddressCheck,
} from "../../../../daemon/outbound/address-policy.ts";

const checkOf = (policy: AddressPolicy, own = "127.0.0.1", machine: readonly string[] = []) =>
  createAddressCheck({
    policy,
    own: () => [{ address: own, port: 7420 }],
    machine: () => machine,
  });
const permits = (policy: AddressPolicy, address: string, port = 80) =>
  checkOf(policy).refusal(address, port) === undefined;

// Address, whether `home` permits it, whether `public` does.
const table: readonly [string, boolean, boolean][] = [
  // The internet.
  ["1.1.1.1", true, true],
  ["8.8.8.8", true, true],
  ["172.15.255.255", true, true],
  ["172.32.0.0", true, true],
  ["192.167.255.255", true, true],
  ["100.63.255.255", true, true],
  ["100.128.0.0", true, true],
  ["2606:4700:4700::1111", true, true],
  ["2a00:1450:4001::1", true, true],
  // At home.
  ["10.0.0.1", true, false],
  ["10.255.255.255", true, false],
  ["172.16.0.1", true, false],
  ["172.31.255.255", true, false],
  ["192.168.1.1", true, false],
  ["100.64.0.1", true, false],
  ["127.0.0.1", true, false],
  ["127.255.255.254", true, false],
  ["::1", true, false],
  ["fc00::1", true, false],
  ["fd12:3456::1", true, false],
  // Never.
  ["0.0.0.0", false, false],
  ["0.1.2.3", false, false],
  ["169.254.0.1", false, false],
  ["169.254.169.254", false, false],
  ["169.254.255.255", false, false],
  ["100.100.100.200", false, false],
  ["168.63.129.16", false, false],
  ["192.0.0.192", false, false],
  ["192.0.2.1", false, false],
  ["198.18.0.1", false, false],
  ["198.51.100.1", false, false],
  ["203.0.113.1", false, false],
  ["224.0.0.1", false, false],
  ["239.255.255.255", false, false],
  ["240.0.0.1", false, false],
  ["255.255.255.255", false, false],
  ["::", false, false],
  ["fe80::1", false, false],
  ["fe80::1%eth0", false, false],
  ["febf::1", false, false],
  ["fec0::1", false, false],
  ["ff02::1", false, false],
  ["fd00:ec2::254", false, false],
  ["fd20:ce::254", false, false],
  ["2001:db8::1", false, false],
  ["100::1", false, false],
  // An address of IPv4 inside one of IPv6 counts as itself.
  ["::ffff:169.254.169.254", false, false],
  ["::ffff:a9fe:a9fe", false, false],
  ["::ffff:192.168.1.1", true, false],
  ["::ffff:8.8.8.8", true, true],
  ["::169.254.169.254", false, false],
  ["::ffff:0:169.254.169.254", false, false],
  ["64:ff9b::169.254.169.254", false, false],
  ["64:ff9b::10.0.0.1", true, false],
  ["64:ff9b::8.8.8.8", true, true],
  ["64:ff9b:1::169.254.169.254", false, false],
  ["2002:a9fe:a9fe::1", false, false],
  ["2002:c0a8:0101::1", true, false],
  ["2001:0:4136:e378:8000:63bf:5601:5601", false, false],
  ["2a00:1450::5efe:a9fe:a9fe", false, false],
  ["2a00:1450::200:5efe:10.0.0.1", true, false],
  // No address at all.
  ["", false, false],
  ["localhost", false, false],
  ["2130706433", false, false],
  ["0x7f000001", false, false],
  ["0177.0.0.1", false, false],
  ["127.1", false, false],
];

describe("the range table", () => {
  test.each(table)("classifies the address %s", (address, atHome, inPublic) => {
    expect({ home: permits("home", address), public: permits("public", address) }).toEqual({
      home: atHome,
      public: inPublic,
    });
    expect(permits("open", address)).toBe(true);
  });
});

describe("the daemon itself", () => {
  test("the daemon itself is refused on its port, and nothing else of the machine", () => {
    const check = checkOf("home");
    expect(check.refusal("127.0.0.1", 7420)).toContain("daemon itself");
    expect(check.refusal("::1", 7420)).toContain("daemon itself");
    expect(check.refusal("::ffff:127.0.0.1", 7420)).toContain("daemon itself");
    expect(check.refusal("127.0.0.1", 7421)).toBeUndefined();
    expect(check.refusal("192.168.1.5", 7420)).toBeUndefined();
  });

  test("a daemon that listens everywhere owns every address of the machine", () => {
    for (const everywhere of ["0.0.0.0", "::"]) {
      const check = checkOf("home", everywhere, ["192.168.1.5", "fe80::5%eth0"]);
      expect(check.refusal("192.168.1.5", 7420)).toContain("daemon itself");
      expect(check.refusal("127.0.0.1", 7420)).toContain("daemon itself");
      expect(check.refusal("192.168.1.6", 7420)).toBeUndefined();
    }
  });

  test("the daemon itself is known by a name, too", () =>
    expect(checkOf("home", "localhost").refusal("127.0.0.1", 7420)).toContain("daemon itself"));
});
