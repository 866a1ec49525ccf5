// daemon/outbound: outgoing traffic: mail, breached-password lookups, requests to servers that users name.
// This file decides which addresses are allowed; guarded-request.ts connects to allowed addresses only.
import ipaddr from "ipaddr.js";

/**
 * Policy for the addresses of servers that users name. `home`: public and private addresses and the machine itself, but
 * not link-local, metadata services, multicast, reserved ones or the daemon itself. `public`: only addresses that are
 * routed on the internet. `open`: any.
 */
export type AddressPolicy = "home" | "public" | "open";

/** Address and port of a listener. */
export interface Listener {
  /** An address, or a name of this machine. */
  readonly address: string;
  readonly port: number;
}

/** Checks addresses; see `createAddressCheck`. */
export type AddressCheck = ReturnType<typeof createAddressCheck>;

/** The classification of an address. */
type Kind = "public" | "private" | "loopback" | "forbidden";

/** Metadata services of cloud vendors within ranges that are otherwise private or public. */
const metadata = new Set([
  "169.254.169.254",
  "169.254.170.2",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "fd00:ec2::254",
  "fd20:ce::254",
]);

/** Ranges by their names in `ipaddr.js`; all others are forbidden. */
const kinds: Readonly<Record<string, Kind>> = {
  unicast: "public",
  private: "private",
  uniqueLocal: "private",
  carrierGradeNat: "private",
  loopback: "loopback",
  as112: "public",
};

/**
 * Creates the check of a policy.
 * @param own returns where the daemon listens; called for each check because it is known late
 * @param machine returns all addresses of this machine, which a daemon that listens everywhere has
 */
export function createAddressCheck({
  policy,
  own,
  machine,
}: {
  readonly policy: AddressPolicy;
  readonly own: () => readonly Listener[];
  readonly machine: () => readonly string[];
}) {
  return {
    /** Returns the reason why connections to an address are forbidden, without the address; undefined when they are allowed. */
    refusal(text: string, port: number): string | undefined {
      if (policy === "open") return undefined;
      const address = parse(text);
      if (address === undefined) return "it is not an address";
      const kind = toKind(address);
      if (kind === "forbidden") return "addresses of this range are never called";
      if (policy === "public" && kind !== "public")
        return "only public addresses are called (address_policy is public)";
      return isOwn(address, kind, port) ? "it is the daemon itself" : undefined;
    },
  };

  function isOwn(address: Address, kind: Kind, port: number): boolean {
    const text = address.toString();
    return own()
      .filter((listener) => listener.port === port)
      .some((listener) => {
        const listening = parse(listener.address);
        const isEverywhere = listening?.range() === "unspecified";
        // A name such as `localhost` means the loopback addresses.
        const isLoopback = listening === undefined || toKind(listening) === "loopback";
        if (kind === "loopback") return isEverywhere || isLoopback;
        if (isEverywhere) return machine().some((each) => parse(each)?.toString() === text);
        return listening?.toString() === text;
      });
  }
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Parses an address; an IPv4-mapped one becomes IPv4. Undefined for everything else. */
function parse(text: string): Address | undefined {
  // A zone such as `%eth0` does not change the classification.
  const [plain = ""] = text.replace(/^\[|\]$/g, "").split("%");
  if (ipaddr.IPv4.isValidFourPartDecimal(plain)) return ipaddr.IPv4.parse(plain);
  if (!plain.includes(":") || !ipaddr.IPv6.isValid(plain)) return undefined;
  const parsed = ipaddr.IPv6.parse(plain);
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address() : parsed;
}

function toKind(address: Address): Kind {
  if (metadata.has(address.toString())) return "forbidden";
  if (address instanceof ipaddr.IPv4) return kinds[address.range()] ?? "forbidden";
  const embedded = toEmbedded(address);
  return embedded === undefined ? (kinds[address.range()] ?? "forbidden") : toKind(embedded);
}

/** Returns the IPv4 address that a translator on the path would connect to. */
function toEmbedded(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  const { parts } = address;
  const from = (high = 0, low = 0) => new ipaddr.IPv4([high >> 8, high & 255, low >> 8, low & 255]);
  // NAT64: 64:ff9b::/96. In 64:ff9b:1::/48 the position of the address is unknown, so that range is forbidden.
  if (parts[0] === 0x64 && parts[1] === 0xff9b && parts.slice(2, 6).every((part) => part === 0))
    return from(parts[6], parts[7]);
  // 6to4: 2002::/16.
  if (parts[0] === 0x2002) return from(parts[1], parts[2]);
  // IPv4-compatible: ::/96, but for :: and ::1; translated: ::ffff:0:0:0/96.
  const isLow = parts.slice(0, 4).every((part) => part === 0);
  if (isLow && parts[4] === 0xffff && parts[5] === 0) return from(parts[6], parts[7]);
  if (isLow && parts[4] === 0 && parts[5] === 0 && parts[6] !== 0) return from(parts[6], parts[7]);
  // ISATAP: an interface identifier of ::0:5efe:a.b.c.d or ::200:5efe:a.b.c.d.
  if (((parts[4] ?? 0) & 0xfdff) === 0 && parts[5] === 0x5efe) return from(parts[6], parts[7]);
  return undefined;
}
