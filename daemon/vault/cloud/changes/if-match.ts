/**
 * Returns the etag of the header `If-Match` as the provider writes it: `known` if they differ in quotes only.
 * Undefined without the header and for `*`, which matches any version.
 */
export function readIfMatch(
  header: string | undefined,
  recordedEtag: string | undefined,
): string | undefined {
  const requested = header?.trim() ?? "*";
  if (requested === "*") return undefined;
  return recordedEtag !== undefined && unquote(recordedEtag) === unquote(requested)
    ? recordedEtag
    : unquote(requested);
}

function unquote(etag: string): string {
  return /^(?:W\/)?"(.*)"$/.exec(etag)?.[1] ?? etag;
}
