import type { IncomingMessage } from "node:http";
import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [Address, number];

/** Hops that are looked at: a longer chain is somebody's invention. */
const HOPS_MAX = 32;
/** What stands for a peer without an address, such as one that has gone. */
const UNKNOWN = "unknown";

/**
 * A function that tells the client's address (vault API, Authentication and sessions): the peer's, unless the peer
 * lies in the `trusted` ranges; then the right-most hop of `X-Forwarded-For` that does not, for every hop left of it
 * may be made up. When all hops are trusted it is the left-most one. What is no address is ignored together with
 * everything left of it. An IPv4-mapped address is given as IPv4; nothing else of the header is believed.
 * @param trusted addresses and ranges in CIDR notation; none turns the header off
 * @throws Error when a range is not one
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
 * What an address counts as for limits: IPv4 as it is, also when it is mapped into IPv6; IPv6 as its /64 network,
 * since whoever has one address of it has all of them.
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

/** The address in `text`, with IPv4-mapped ones as IPv4; the port or the zone that may come with it is left out. */
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

/** The peer's address as it is logged; without a header this is all that every request costs. */
function withoutMapping(peer: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(peer)?.[1];
  return mapped ?? peer.replace(/%.*$/, "");
}
