// daemon/forge/avatars: pictures of users and organizations.
// May import: daemon/contract, daemon/http/handle.ts (types), storage. Start here.
import { toSvg } from "jdenticon";

const SIDE_PIXELS = 290;

/** A picture made of nothing but the hash in its address: the same hash always gives the same picture, as SVG. */
export function toIdenticon(hash: string): Buffer {
  return Buffer.from(toSvg(hash, SIDE_PIXELS, { backColor: "#ffffff" }));
}

/** Whether text may stand for a picture: 32 to 64 lower-case hex digits. */
export function isAvatarHash(text: string): boolean {
  return /^[0-9a-f]{32,64}$/.test(text);
}
