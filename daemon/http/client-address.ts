import ipaddr from "ipaddr.js";

type Address = ReturnType<typeof ipaddr.process>;
type Range = ReturnType<typeof ipaddr.parseCIDR>;

/** Hops that are looked at, from the right; a longer header is a client's invention. */
const HOPS_MAX = 16;

/**
 * The client's address (vault API, Authentication): the peer's, unless the peer lies in a trusted range; then the
 * right-most hop of `X-Forwarded-For` that is not itself trusted, which no client can forge. IPv4 written as IPv6
 * counts as IPv4. A hop that is no address ends the search: what lies behind it cannot be believed.
 */
export function createClientAddress(
  trustedRanges: readonly string[],
): (peer: string | undefined, forwardedFor: string | undefined) => string {
  const trusted = trustedRanges.map((range) => ipaddr.parseCIDR(range));
  return (peer, forwardedFor) => {
    const address = parse(peer);
    if (address === undefined) return peer ?? "";
    if (forwardedFor === undefined || !isTrusted(address, trusted)) return address.toString();
    let client = address;
    for (const hop of forwardedFor.split(",").slice(-HOPS_MAX).reverse()) {
      const next = parse(hop.trim());
      if (next === undefined) break;
      client = next;
      if (!isTrusted(next, trusted)) break;
    }
    return client.toString();
  };
}

/**
 * What a limit per address counts: an IPv4 address, or the /64 network of an IPv6 address, since one household has
 * a whole network to choose from.
 */
export function toLimitKey(address: string): string {
  const parsed = parse(address);
  if (parsed === undefined) return "unknown";
  if (parsed.kind() === "ipv4") return parsed.toString();
  const network = parsed.toByteArray().slice(0, 8);
  return `${Buffer.from(network).toString("hex")}/64`;
}

function parse(text: string | undefined): Address | undefined {
  // A zone names an interface of this machine and is no part of the address.
  const [bare = ""] = (text ?? "").split("%");
  return ipaddr.isValid(bare) && (bare.includes(":") || ipaddr.IPv4.isValidFourPartDecimal(bare))
    ? ipaddr.process(bare)
    : undefined;
}

function isTrusted(address: Address, ranges: readonly Range[]): boolean {
  return ranges.some(
    (range) => range[0].kind() === address.kind() && (address.match as (range: Range) => boolean)(range),
  );
}
