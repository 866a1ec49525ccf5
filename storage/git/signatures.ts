/** Author or committer of a commit. */
export interface CommitSignature {
  readonly name: string;
  readonly email: string;
  /** RFC 3339 with the person's own offset. */
  readonly at: string;
}

/** Parses `Name <address> seconds zone`. A damaged part is empty, or the beginning of time. */
export function toSignature(text: string): CommitSignature {
  const [, name = "", email = "", seconds = "0", zone = "+0000"] =
    /^(.*?) ?<([^>]*)>(?: (-?\d{1,15}) ([+-]\d{4}))?/s.exec(text) ?? [];
  return { name, email, at: toRfc3339(Number(seconds), zone) };
}

const MINUTE_MS = 60_000;
/** The last second that RFC 3339 can write. */
const LATEST_MS = Date.UTC(9999, 11, 31);

/** Returns a time with the offset of the person's zone, `Z` for UTC. */
export function toRfc3339(seconds: number, zone: string): string {
  const minutes =
    (zone.startsWith("-") ? -1 : 1) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3)));
  const isOffset = minutes !== 0 && Math.abs(minutes) < 24 * 60;
  const at =
    Math.min(Math.max(seconds * 1000, 0), LATEST_MS) + (isOffset ? minutes * MINUTE_MS : 0);
  const local = new Date(Math.max(at, 0)).toISOString().slice(0, 19);
  return isOffset ? `${local}${zone.slice(0, 3)}:${zone.slice(3)}` : `${local}Z`;
}
