// daemon/forge/avatars: pictures of users and organizations.
// May import: daemon/contract, daemon/http/handle.ts (types), storage, ../refusals.ts. Start here.
import { toSvg } from "jdenticon";
import { notFound } from "../refusals.ts";

const SIDE_PIXELS = 290;

/**
 * A picture made of nothing but the hash in its address: the same hash always gives the same picture, as SVG.
 * Refuses with `not_found` what is no hash: 32 to 64 lower-case hex digits.
 */
export function getIdenticon(hash: string): Buffer {
  if (!/^[0-9a-f]{32,64}$/.test(hash)) throw notFound();
  return Buffer.from(toSvg(hash, SIDE_PIXELS, { backColor: "#ffffff" }));
}
