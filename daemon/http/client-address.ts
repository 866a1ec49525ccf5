import type { IncomingMessage } from "node:http";
import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [Address, number];

/** The most hops that are read: no real chain of proxies is longer. */
const HOPS_MAX = 32;
/** The address of a peer without one, such as one that has disconnected. */
const UNKNOWN = "unknown";

/**
 * Creates a function that returns the client's address: the peer's, unless
 * the peer is within the `trusted` ranges; then the right-most hop of `X-Forwarded-For` that is not trusted, since
 * every hop left of it may be forged. When all hops are trusted it is the left-most one. An invalid hop is ignored
 * together with everything left of it. An IPv4-mapped address is returned as IPv4.
 * @param trusted addresses and ranges in CIDR notation; when empty, the header is ignored
 * @throws Error for an invalid range
 */
export function createClientAddress(
  trusted: readonly string[],
): (message: Pick<IncomingMessage, "socket" | "headers">) => string {
  const ranges = trusted.map(toRange);
  return (message) => {
    const peer = message.socket.remoteAddress;
    if (peer === undefined) {
      return UNKNOWN;
    }
    const forwarded = message.headers["x-forwarded-for"];
    if (forwarded === undefined || ranges.length === 0) {
      return withoutMapping(peer);
    }
    const peerAddress = toAddress(peer);
    if (peerAddress === undefined) {
      return UNKNOWN;
    }
    let client: Address = peerAddress;
    for (const hop of hopsFromRight(forwarded)) {
      const next: Address | undefined = isWithin(client, ranges) ? toAddress(hop) : undefined;
      if (next === undefined) {
        break;
      }
      client = next;
    }
    return client.toString();
  };
}

/**
 * Returns the key of an address for rate limits: an IPv4 address itself, also when it is mapped into IPv6; the /64
 * network
 * of an IPv6 address, since a client has all addresses of its network.
 */
export function limitAddress(address: string): string {
  const parsed = toAddress(address);
  if (parsed === undefined) {
    return UNKNOWN;
  }
  if (parsed.kind() === "ipv4") {
    return parsed.toString();
  }
  const network = new ipaddr.IPv6([...(parsed as ipaddr.IPv6).parts.slice(0, 4), 0, 0, 0, 0]);
  return `${network.toString()}/64`;
}

/** Parses an address, with or without port or zone; an IPv4-mapped one becomes IPv4. */
function toAddress(text: string): Address | undefined {
  const bare =
    /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? text.replace(/^([\d.]+):\d{1,5}$/, "$1");
  const plain = bare.replace(/%.*$/, "");
  if (ipaddr.IPv4.isValidFourPartDecimal(plain)) {
    return ipaddr.IPv4.parse(plain);
  }
  if (!plain.includes(":") || !ipaddr.IPv6.isValid(plain)) {
    return undefined;
  }
  const parsed = ipaddr.IPv6.parse(plain);
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address() : parsed;
}

function toRange(text: string): Range {
  const range: Range = text.includes("/")
    ? ipaddr.parseCIDR(text)
    : [ipaddr.parse(text), text.includes(":") ? 128 : 32];
  const [address, bits] = range;
  if (address.kind() === "ipv6" && (address as ipaddr.IPv6).isIPv4MappedAddress() && bits >= 96) {
    return [(address as ipaddr.IPv6).toIPv4Address(), bits - 96];
  }
  return range;
}

function isWithin(address: Address, ranges: readonly Range[]): boolean {
  return ranges.some(
    ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
  );
}

function hopsFromRight(header: string | string[]): string[] {
  const hops = (Array.isArray(header) ? header.join(",") : header).split(",");
  return hops
    .slice(-HOPS_MAX)
    .toReversed()
    .map((hop) => hop.trim());
}

/** Returns the peer's address for the log. Cheap: it runs for every request. */
function withoutMapping(peer: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(peer)?.[1];
  return mapped ?? peer.replace(/%.*$/, "");
}
