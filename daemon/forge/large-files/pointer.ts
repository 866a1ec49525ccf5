import { OBJECT_NAME } from "../../../storage/objects/object-store.ts";

/** Longest pointer; a longer file is not a pointer (Git LFS specification, "The Pointer"). */
export const POINTER_BYTES_MAX = 1_024;

const VERSIONS = ["https://git-lfs.github.com/spec/v1", "https://hawser.github.com/spec/v1"];

/** Returns what a committed file points to; undefined for a file that is no pointer of Git LFS. */
export function parsePointer(
  bytes: Uint8Array,
): { readonly oid: string; readonly size: number } | undefined {
  if (bytes.byteLength > POINTER_BYTES_MAX) return undefined;
  const [first = "", ...lines] = Buffer.from(bytes).toString("latin1").split("\n");
  if (!VERSIONS.some((version) => first.trimEnd() === `version ${version}`)) return undefined;
  const fields = new Map(
    lines.map((line) => {
      const space = line.indexOf(" ");
      return [line.slice(0, space), line.slice(space + 1).trimEnd()] as const;
    }),
  );
  const oid = /^sha256:(.*)$/.exec(fields.get("oid") ?? "")?.[1] ?? "";
  const size = fields.get("size") ?? "";
  if (!OBJECT_NAME.test(oid) || !/^\d{1,15}$/.test(size)) return undefined;
  return { oid, size: Number(size) };
}
