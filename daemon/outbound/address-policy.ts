// daemon/outbound: outgoing traffic: mail, breached-password lookups, requests to servers that users name.
// This file decides which addresses are allowed; guarded-request.ts connects to allowed addresses only.
import ipaddr from "ipaddr.js";

/**
 * Which addresses servers may have that people name. `home`: private ones and the machine itself, but never link-local,
 * metadata services, multicast, reserved ones or the daemon itself. `public`: of these only what the internet routes.
 * `open`: any.
 */
export type AddressPolicy = "home" | "public" | "open";

/** Where somebody listens. */
export interface Listener {
  /** An address, or a name of this machine. */
  readonly address: string;
  readonly port: number;
}

/** Judges addresses; see `createAddressCheck`. */
export interface AddressCheck {
  /** Why an address must not be connected to, in words without the address; undefined when it may. */
  refusal(address: string, port: number): string | undefined;
}

/** What an address is good for. */
type Kind = "public" | "private" | "loopback" | "forbidden";

/** Metadata services of clouds that lie in ranges which are otherwise private or public. */
const metadata = new Set([
  "169.254.169.254",
  "169.254.170.2",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "fd00:ec2::254",
  "fd20:ce::254",
]);

/** Ranges by the names that `ipaddr.js` gives them; what is not here is forbidden. */
const kinds: Readonly<Record<string, Kind>> = {
  unicast: "public",
  private: "private",
  uniqueLocal: "private",
  carrierGradeNat: "private",
  loopback: "loopback",
  as112: "public",
};

/**
 * A check by a policy.
 * @param own where the daemon listens; asked anew each time, since it is known late
 * @param machine all addresses of this machine: a daemon that listens everywhere has all of them
 */
export function createAddressCheck({
  policy,
  own,
  machine,
}: {
  readonly policy: AddressPolicy;
  readonly own: () => readonly Listener[];
  readonly machine: () => readonly string[];
}): AddressCheck {
  return {
    refusal(text, port) {
      if (policy === "open") return undefined;
      const address = parse(text);
      if (address === undefined) return "it is no address";
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
        // A name such as `localhost` stands for the loopback addresses.
        const isLoopback = listening === undefined || toKind(listening) === "loopback";
        if (kind === "loopback") return isEverywhere || isLoopback;
        if (isEverywhere) return machine().some((each) => parse(each)?.toString() === text);
        return listening?.toString() === text;
      });
  }
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address; one of IPv4 that is mapped into IPv6 is the same as itself. Undefined for everything else. */
function parse(text: string): Address | undefined {
  // A zone such as `%eth0` says nothing about what the address is.
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

/** The IPv4 address that a translator on the way would really connect to. */
function toEmbedded(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  const { parts } = address;
  const from = (high = 0, low = 0) => new ipaddr.IPv4([high >> 8, high & 255, low >> 8, low & 255]);
  // NAT64: 64:ff9b::/96. In 64:ff9b:1::/48 nobody knows where the address is, so that range is forbidden.
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
