/**
 * The header of a download (RFC 8187): the whole name percent-encoded, so that no character of it can end the header
 * or the value.
 */
export function toContentDisposition(name: string): string {
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*!]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename*=UTF-8''${encoded}`;
}
